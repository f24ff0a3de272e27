// SPDX-License-Identifier: Apache-2.0
// One running gateway: disk, kernel and interfaces under one config, and every order that changes them. Knows
// no sockets. Called from one thread, the loop's, but for apply(), roll_back() and reload(): those are orders
// (orders.h), to be called as such.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/adoption.h"
#include "agent/alarms.h"
#include "agent/claims_status.h"
#include "agent/foundation.h"
#include "agent/interfaces.h"
#include "agent/journal_compaction.h"
#include "agent/links_status.h"
#include "agent/neighbours.h"
#include "agent/orders.h"
#include "agent/source_status.h"
#include "agent/standing.h"
#include "agent/sync_status.h"
#include "config/config.h"
#include "dataplane/losses.h"
#include "observe/health.h"
#include "wire/json.h"

namespace postern::agent {

class Gateway {
 public:
  // Opens everything, installs the backstop, puts the adopted snapshot into force and attaches the
  // interfaces, in this order. A snapshot that cannot be put into force is a problem, not a failure: the
  // kernel keeps what it has. Where the kernel serves that snapshot already, from an earlier start, the last
  // two are left to finish_start(): claims must not wait for them. `clock` and `log` must outlive this.
  static Result<std::unique_ptr<Gateway>> start(config::Config config, std::filesystem::path config_file,
                                                const Clock& clock, spdlog::logger& log);

  // From now on orders go there; before, all happens at once. `orders` must outlive this.
  void use(Orders& orders);
  Orders& orders() { return *orders_; }

  bool is_starting() const { return starting_; }
  // What start() left. An order.
  Result<> finish_start();
  Result<dataplane::SwapReport> apply(std::string_view text, const ApplyOrder& order);
  // Keeps the snapshot that is on trial.
  Result<> confirm();
  // Back to the snapshot before the adopted one.
  Result<dataplane::SwapReport> roll_back(ledger::RevertCause cause);
  Result<> see_timestamp(std::string_view file);
  // From its return on these hold resources, and nobody else does (Adoption::hold).
  Result<> hold(dataplane::Holders holders);
  // Reads the config again and attaches again what was taken off. A config that is refused changes nothing.
  Result<bool> reload();
  // Replaces the journal's sealed segments by a base now.
  Result<wire::Json> compact();
  // An operator gives up what may be missing (journal_report.h).
  Result<wire::Json> settle();
  // Links of these names may have changed.
  void links_changed(const std::vector<std::string>& names);
  // Each second: what the passing of time changes.
  void tick();
  // Whether the kernel is still as it was left: programs and backstop.
  void look();
  // Each few seconds: look(), and another try at an adopted snapshot that is not in force.
  void check();
  // Journals the clean stop. Programs, pins and backstop stay: forwarding goes on.
  Result<> stop();

  // Told when an event, an own one too, is durable and counts.
  void on_event(std::function<void()> told) { base_->lineage.replica.on_change(std::move(told)); }

  // How it stands with the source of snapshots; part of health and metrics.
  void note_source(const SourceStatus& status) { source_ = status; }
  const SourceStatus& source() const { return source_; }
  // The same for the links to other gateways.
  void note_links(LinksStatus status) { links_ = std::move(status); }
  const LinksStatus& links() const { return links_; }
  // And for what they carry.
  void note_sync(SyncStatus status) { sync_ = std::move(status); }
  const SyncStatus& sync() const { return sync_; }

  // And with claims.
  void note_claims(ClaimsStatus status) { claims_ = std::move(status); }
  const ClaimsStatus& claims() const { return claims_; }

  observe::Health health() const;
  const config::Config& config() const { return config_; }
  const Clock& clock() const { return *clock_; }
  const Foundation& foundation() const { return *base_; }
  const Interfaces& interfaces() const { return interfaces_; }
  const Adoption& adoption() const { return adoption_; }
  dataplane::Netdev& netdev() { return *base_->netdev; }
  Neighbours& neighbours() { return neighbours_; }
  ledger::Replica& replica() { return base_->lineage.replica; }
  ledger::Stream& stream() { return *base_->stream; }
  ledger::Restraint& restraint() { return base_->restraint; }
  // Null when the kernel cannot tell of lost frames; then health() says so.
  const dataplane::Losses* losses() const { return losses_.get(); }
  bool backstop_intact() const { return backstop_intact_; }
  Standing standing() const;
  // What the last start, apply, reload or link change did to the kernel's tables.
  const dataplane::SwapReport& last_swap() const { return last_swap_; }

 private:
  Gateway(std::unique_ptr<Foundation> base, config::Config config, std::filesystem::path config_file,
          const Clock& clock, spdlog::logger& log);
  // A reload before it is in force.
  struct Reload {
    config::Config config;
    Interfaces interfaces;
    dataplane::BackstopRules before;
    dataplane::BackstopRules after;
  };

  Result<> bring_up();
  bool may_resume() const;
  Result<> attach_all();
  Result<dataplane::SwapReport> redo(const config::Config& config, const Interfaces& interfaces);
  void redo_or_alarm(std::string_view why);
  // Orders it, unless it is ordered already.
  void order_redo(std::string why);
  void order_roll_back();
  void follow_interfaces();
  Result<Reload> begin_reload();
  Result<bool> finish_reload(Reload wanted, const Result<dataplane::SwapReport>& swap);
  void compact_when_due();
  void note(const dataplane::SwapReport& swap);
  void route_host();
  void watch_losses();
  Result<> install(const dataplane::BackstopRules& rules);
  void settle_authority();
  void add_authority_problems(std::vector<std::string>& problems) const;

  std::unique_ptr<Foundation> base_;
  config::Config config_;
  std::filesystem::path config_file_;
  const Clock* clock_;
  spdlog::logger* log_;
  Interfaces interfaces_;
  Adoption adoption_;
  Neighbours neighbours_;
  JournalCompaction compaction_;
  Alarms alarms_;
  SourceStatus source_;
  LinksStatus links_;
  SyncStatus sync_;
  ClaimsStatus claims_;
  dataplane::SwapReport last_swap_;
  bool backstop_intact_ = false;
  std::unique_ptr<dataplane::Losses> losses_;
  std::string losses_problem_;  // why lost frames are not counted
  std::string host_problem_;    // why the gateway itself cannot reach the mesh
  ImmediateOrders immediate_;
  Orders* orders_ = &immediate_;
  bool starting_ = false;
  bool redo_ordered_ = false;
  bool roll_back_ordered_ = false;
  unsigned checks_until_retry_ = 0;
  std::uint64_t next_rollback_try_ns_ = 0;
};

}  // namespace postern::agent
