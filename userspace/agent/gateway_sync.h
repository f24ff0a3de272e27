// SPDX-License-Identifier: Apache-2.0
// The sync of a running gateway: joins sync/sync.h to its replica, the links, threads that verify, the clock
// and the served snapshot.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "agent/repeating_timer.h"
#include "agent/sync_status.h"
#include "core/clock.h"
#include "mesh/links.h"
#include "sync/sync.h"
#include "sync/verify_pool.h"

namespace spdlog {
class logger;
}

namespace postern::agent {

class GatewaySync final : private sync::Carrier {
 public:
  // All must outlive this. `own`: whose replica it is.
  GatewaySync(asio::io_context& io, ledger::Replica& replica, const wire::PublicKey& own, const Clock& clock,
              spdlog::logger& log);
  GatewaySync(const GatewaySync&) = delete;
  GatewaySync& operator=(const GatewaySync&) = delete;
  ~GatewaySync() override;

  // What the links carry goes here.
  mesh::LinkHandler& handler() { return sync_; }
  // From now on over these, which must outlive this.
  void carry_over(mesh::Links& links) { links_ = &links; }
  // Whose events are taken from now on, by their keys. Revoked and removed gateways too: what they wrote
  // before is part of what the others hold already, and whoever did not get all of it in time would differ
  // from them for good (SPEC 9.3).
  void follow(const std::map<wire::PublicKey, std::string>& nodes);
  SyncStatus status() const { return {sync_.rows(), sync_.counts(), {}}; }

 private:
  Result<> send(std::string_view gateway, ByteView message) override;
  void hold(std::string_view gateway) override;
  void resume(std::string_view gateway) override;
  void tick();
  // Own events go out at once: a claim's takeover waits for each of them.
  void wake();
  void log_changes();

  asio::io_context& io_;
  ledger::Replica& replica_;
  const Clock& clock_;
  spdlog::logger& log_;
  mesh::Links* links_ = nullptr;
  wire::PublicKey own_;
  std::set<wire::PublicKey> authors_;
  sync::VerifyPool pool_;
  sync::Sync sync_;
  std::map<std::string, std::uint64_t> penalties_said_;
  std::string own_lost_said_;
  bool awake_ = false;  // a flush is posted
  RepeatingTimer each_tick_;
};

}  // namespace postern::agent
