// SPDX-License-Identifier: Apache-2.0
// The claims of a running gateway: joins claims/claims.h to its journal, the kernel's leases and tables, the
// links, the served snapshot and the log.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/announcer.h"
#include "agent/claims_hook.h"
#include "agent/claims_news.h"
#include "agent/claims_status.h"
#include "agent/gateway.h"
#include "agent/repeating_timer.h"
#include "claims/claims.h"
#include "claims/ground.h"
#include "core/clock.h"
#include "mesh/links.h"

namespace spdlog {
class logger;
}

namespace postern::agent {

class GatewayClaims final : private claims::Ground {
 public:
  // All must outlive this.
  GatewayClaims(asio::io_context& io, Gateway& gateway, const Clock& clock, spdlog::logger& log);
  GatewayClaims(const GatewayClaims&) = delete;
  GatewayClaims& operator=(const GatewayClaims&) = delete;
  ~GatewayClaims() override = default;

  // What the links carry for claims goes here.
  mesh::LinkHandler& handler() { return claims_; }
  // From now on over these, which must outlive this.
  void carry_over(mesh::Links& links) { links_ = &links; }
  // The snapshot that is served now, and the config: after each flip and reload, and now and then. Claims
  // begin with the first snapshot that is served.
  void follow();
  // Something happened that a tick should not wait for: an event, or a packet under an epoch to come.
  void wake();

  // An operator's orders. Refused with errc::claims_closed before the first snapshot is served.
  Result<> claim(ResourceNumber resource);
  Result<> release(ResourceNumber resource);
  Result<> revoke(ResourceNumber resource, const std::string& document);

  const ClaimsStatus& status() const { return status_; }

 private:
  Result<> write(std::span<const ledger::Draft> drafts, Lamport lowest) override;
  bool is_poisoned() const override;
  std::string may_have_forgotten() const override;
  void forgot_nothing() override;
  Result<std::uint64_t> count_start(std::uint64_t least) override;
  Result<claims::Lease> lease(ResourceNumber resource) const override;
  std::map<ResourceNumber, claims::Holder> holders() const override;
  Result<> raise_fence(ResourceNumber resource, Epoch epoch) override;
  Result<> extend(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) override;
  Result<> shorten(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) override;
  Result<> stop(ResourceNumber resource) override;
  Result<> hold(const std::map<ResourceNumber, claims::Holder>& holders) override;
  bool send(std::string_view gateway, ByteView message) override;
  void announce(ResourceNumber resource) override;

  void start();
  void tick();
  Result<> ordered(Result<> done);
  void observe();
  const dataplane::Leases& leases() const { return gateway_.foundation().generations->leases(); }

  asio::io_context& io_;
  Gateway& gateway_;
  const Clock& clock_;
  spdlog::logger& log_;
  mesh::Links* links_ = nullptr;
  Announcer announcer_;
  ClaimsHook hook_;
  ClaimsNews news_;
  ClaimsStatus status_;
  claims::Claims claims_;
  std::optional<Hash256> followed_;
  std::string own_lost_settled_;  // what the replica had lost when nothing was forgotten any more
  bool awake_ = false;            // a tick is posted
  std::uint64_t seen_changes_ = 0;
  RepeatingTimer each_tick_;
};

}  // namespace postern::agent
