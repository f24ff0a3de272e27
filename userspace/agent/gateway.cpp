// SPDX-License-Identifier: Apache-2.0
#include "agent/gateway.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <utility>

#include "agent/journal_report.h"

namespace postern::agent {
namespace {

constexpr unsigned kChecksBetweenRetries = 6;
constexpr std::uint64_t kRollbackRetry_ns = 60'000'000'000;
constexpr std::size_t kMostHostRoutes = 4096;

PortSlots slots_in_kernel(const Foundation& base, const config::Config& config) {
  std::map<std::string, std::uint16_t> held;
  std::vector<std::string> names;
  for (const config::Interface& interface : config.interfaces)
    names.push_back(interface.name);
  for (std::size_t number = 0; number < config.interfaces.size(); ++number)
    names.push_back(dataplane::host_port_far_name(number));
  for (const std::string& name : names) {
    const Result<dataplane::Link> link = base.netdev->link(name);
    if (!link) continue;
    const auto slot = base.kernel_slots.find(link->ifindex);
    if (slot != base.kernel_slots.end()) held.emplace(name, slot->second);
  }
  return PortSlots(std::move(held));
}

dataplane::Site site_of(const config::Config& config, const Interfaces& interfaces) {
  dataplane::Site site;
  site.gateway = config.gateway;
  site.tunnel_port = config.tunnel_port;
  site.clamp_mss = config.clamp_mss;
  site.guarded = {config.guarded_ports, config.guarded_rate_packets_per_s};
  site.ports = interfaces.ports();
  return site;
}

}  // namespace

Gateway::Gateway(std::unique_ptr<Foundation> base, config::Config config, std::filesystem::path config_file,
                 const Clock& clock, spdlog::logger& log)
    : base_(std::move(base)),
      config_(std::move(config)),
      config_file_(std::move(config_file)),
      clock_(&clock),
      log_(&log),
      interfaces_(*base_->plane, *base_->netdev, slots_in_kernel(*base_, config_)),
      adoption_({*base_->lineage.journal, *base_->stream, base_->lineage.authority, *base_->plane,
                 *base_->generations, clock},
                config_.mesh),
      neighbours_(*base_->netdev),
      compaction_(*base_->lineage.journal, *base_->key, clock) {}

Result<std::unique_ptr<Gateway>> Gateway::start(config::Config config, std::filesystem::path config_file,
                                                const Clock& clock, spdlog::logger& log) {
  Result<std::unique_ptr<Foundation>> base = Foundation::open(config, clock);
  if (!base) return pass_on(std::move(base));
  std::unique_ptr<Gateway> gateway(
      new Gateway(std::move(*base), std::move(config), std::move(config_file), clock, log));
  if (Result<> up = gateway->bring_up(); !up) return pass_on(std::move(up));
  return gateway;
}

Result<> Gateway::bring_up() {
  const ledger::RecoveryReport& recovery = base_->lineage.journal->recovery();
  log_->info("journal: head {}, {}, after {} stop", recovery.head.value,
             ledger::recovery_class_name(recovery.found), recovery.clean_stop ? "a clean" : "no clean");
  if (!recovery.finding.empty()) log_->warn("journal: cut off: {}", recovery.finding);
  if (!recovery.base_trouble.empty()) log_->warn("journal: passed over: {}", recovery.base_trouble);
  if (!base_->restraint.why().empty())
    log_->warn("{}: this gateway neither claims nor spends before a sync round", base_->restraint.why());
  log_->info("data path: {}", base_->plane->taken_over() ? "taken over from its pins" : "loaded anew");

  Result<> configured = interfaces_.configure(config_.interfaces, config_file_.string());
  if (!configured) return configured;
  Result<> closed = install(interfaces_.backstop(config_));
  if (!closed) return closed;
  Result<> forwarding = dataplane::enable_forwarding();
  if (!forwarding) return forwarding;

  if (may_resume()) {
    const Result<> resumed = adoption_.resume(config_.gateway);
    starting_ = resumed.has_value();
  }
  return starting_ ? Result<>() : finish_start();
}

// Whether the journal left nothing to decide, and the kernel serves what it decided for.
bool Gateway::may_resume() const {
  const ledger::AuthorityState& state = base_->lineage.authority;
  const Result<std::optional<std::string>> bundle = read_recovery_bundle(StateDirectory{config_.state});
  return base_->plane->taken_over() && base_->generations->active() != Generation() && state.adopted &&
         state.active && !state.unconfirmed_until && !state.reverted && bundle && !*bundle;
}

Result<> Gateway::finish_start() {
  settle_authority();
  Result<> attached;
  orders_->on_loop([&] {
    starting_ = false;
    attached = attach_all();
  });
  return attached;
}

Result<> Gateway::attach_all() {
  Result<bool> attached = interfaces_.attach(Which::all, config_.generic_xdp);
  if (!attached) return pass_on(std::move(attached));
  watch_losses();
  for (const InterfaceState& state : interfaces_.states())
    log_->info("interface {}: {}, XDP {}", state.configured.name, role_text(state.configured.role),
               mode_text(state.mode));
  check();
  return {};
}

// What the journal left open: a trial that nobody confirmed, a recovery that an operator asked for.
void Gateway::settle_authority() {
  if (base_->recovered) log_->warn("recovered: the bundle's snapshot makes up for what the disk had lost");
  if (adoption_.on_trial()) {
    // It logs its outcome itself.
    [[maybe_unused]] const Result<dataplane::SwapReport> back = roll_back(ledger::RevertCause::restart);
  }
  [[maybe_unused]] const Result<dataplane::SwapReport> again = redo(config_, interfaces_);
  const StateDirectory state{config_.state};
  const Result<std::optional<std::string>> bundle = read_recovery_bundle(state);
  if (!bundle) log_->error("recovery: {}", bundle.error().message());
  if (!bundle || !*bundle) return;
  [[maybe_unused]] const Result<dataplane::SwapReport> swap = apply(**bundle, {std::nullopt, true});
  if (const Result<> removed = remove_recovery_bundle(state); !removed)
    log_->error("recovery: {}", removed.error().message());
}

void Gateway::use(Orders& orders) {
  orders_ = &orders;
  adoption_.use(orders);
}

Result<dataplane::SwapReport> Gateway::apply(std::string_view text, const ApplyOrder& order) {
  const char* const what = order.recovery ? "recovery" : "apply";
  Result<dataplane::SwapReport> swap = adoption_.apply(
      text, [this] { return site_of(config_, interfaces_); }, config_.root, order);
  orders_->on_loop([&] {
    if (!swap) return log_->warn("{}: {}", what, swap.error().message());
    note(*swap);
    log_->info("{}: serial {} is active as generation {}{}", what, adoption_.served()->serial.value,
               swap->generation.value, adoption_.on_trial() ? ", on trial" : "");
  });
  return swap;
}

Result<> Gateway::confirm() {
  Result<> confirmed = adoption_.confirm();
  if (confirmed)
    log_->info("confirm: serial {} stays", adoption_.served()->serial.value);
  else
    log_->warn("confirm: {}", confirmed.error().message());
  return confirmed;
}

Result<dataplane::SwapReport> Gateway::roll_back(ledger::RevertCause cause) {
  Result<dataplane::SwapReport> swap =
      adoption_.roll_back([this] { return site_of(config_, interfaces_); }, cause);
  orders_->on_loop([&] {
    if (!swap) return log_->error("rollback ({}): {}", ledger::word_of(cause), swap.error().message());
    note(*swap);
    log_->warn("rollback ({}): serial {} is served again as generation {}", ledger::word_of(cause),
               adoption_.served()->serial.value, swap->generation.value);
  });
  return swap;
}

Result<> Gateway::see_timestamp(std::string_view file) {
  Result<> seen = adoption_.see_timestamp(file);
  if (!seen) log_->warn("timestamp: {}", seen.error().message());
  return seen;
}

Result<> Gateway::hold(dataplane::Holders holders) {
  Result<dataplane::SwapReport> swap = adoption_.hold(std::move(holders));
  if (!swap) {
    log_->error("claims: {}", swap.error().message());
    return pass_on(std::move(swap));
  }
  if (swap->changed) last_swap_ = *swap;
  return {};
}

Standing Gateway::standing() const {
  return standing_of(base_->lineage.authority, config_.timestamp_max_age_s, clock_->now_utc());
}

Result<dataplane::SwapReport> Gateway::redo(const config::Config& config, const Interfaces& interfaces) {
  bool adopted = false;
  dataplane::SwapReport nothing;
  orders_->on_loop([&] {
    adopted = base_->lineage.authority.adopted.has_value();
    nothing.generation = base_->generations->active();
  });
  if (!adopted) return nothing;
  Result<dataplane::SwapReport> swap = adoption_.redo([&] { return site_of(config, interfaces); });
  orders_->on_loop([&] {
    if (swap) note(*swap);
  });
  return swap;
}

void Gateway::note(const dataplane::SwapReport& swap) {
  last_swap_ = swap;
  if (const Result<> pruned = adoption_.prune(); !pruned)
    log_->warn("old snapshot files stay: {}", pruned.error().message());
  route_host();
}

void Gateway::route_host() {
  host_problem_.clear();
  if (!adoption_.served()) return;
  const auto& by_segment = adoption_.served()->host_routes;
  for (const InterfaceState& state : interfaces_.states()) {
    if (!state.host_port || !state.ifindex) continue;
    const std::string& segment = state.configured.segment;
    const auto found = by_segment.find(segment);
    std::vector<dataplane::HostRoute> routes;
    if (found != by_segment.end()) routes = found->second;
    if (routes.size() > kMostHostRoutes) {
      host_problem_ = "segment " + segment + " has " + std::to_string(routes.size()) +
                      " prefixes, and the gateway routes its own traffic to " +
                      std::to_string(kMostHostRoutes) +
                      " at most: it cannot reach the mesh itself, forwarding is not touched";
      routes.clear();
    }
    if (Result<> set = dataplane::set_host_routes(*state.host_port, routes, interfaces_.tunnel_mtu()); !set)
      host_problem_ = "the gateway's own traffic: " + set.error().message();
  }
}

void Gateway::watch_losses() {
  losses_problem_.clear();
  if (!losses_) {
    Result<std::unique_ptr<dataplane::Losses>> opened = dataplane::Losses::open();
    if (opened) losses_ = std::move(*opened);
    if (!opened)
      losses_problem_ = "frames lost after a redirect are not counted: " + opened.error().message();
  }
  std::vector<IfIndex> interfaces;
  for (const InterfaceState& state : interfaces_.states())
    if (state.ifindex) interfaces.push_back(state.carrier ? state.carrier->ifindex : *state.ifindex);
  if (!losses_) return;
  if (Result<> watched = losses_->watch(interfaces); !watched) losses_problem_ = watched.error().message();
}

void Gateway::redo_or_alarm(std::string_view why) {
  const Result<dataplane::SwapReport> swap = redo(config_, interfaces_);
  if (!swap || !swap->changed) return;
  orders_->on_loop([&] { log_->info("{}: generation {} is active", why, swap->generation.value); });
}

void Gateway::order_redo(std::string why) {
  if (std::exchange(redo_ordered_, true)) return;
  orders_->submit([this, why = std::move(why)] {
    redo_or_alarm(why);
    orders_->on_loop([this] { redo_ordered_ = false; });
  });
}

void Gateway::order_roll_back() {
  if (std::exchange(roll_back_ordered_, true)) return;
  orders_->submit([this] {
    // It logs its outcome itself.
    [[maybe_unused]] const Result<dataplane::SwapReport> back = roll_back(ledger::RevertCause::timeout);
    orders_->on_loop([this] { roll_back_ordered_ = false; });
  });
}

Result<wire::Json> Gateway::compact() {
  Result<wire::Json> report = compact_journal(*base_, *clock_);
  if (report)
    log_->info("journal: compacted: {}", wire::encode_canonical(*report));
  else
    log_->warn("journal: not compacted: {}", report.error().message());
  return report;
}

Result<wire::Json> Gateway::settle() {
  Result<wire::Json> report = settle_journal(*base_);
  if (report)
    log_->warn("journal: an operator gave up what may be missing: {}", wire::encode_canonical(*report));
  else
    log_->warn("journal: not settled: {}", report.error().message());
  return report;
}

void Gateway::links_changed(const std::vector<std::string>& names) {
  const bool ours = std::any_of(names.begin(), names.end(),
                                [&](const std::string& name) { return interfaces_.watches(name); });
  if (ours) orders_->submit([this] { follow_interfaces(); });
}

void Gateway::follow_interfaces() {
  bool changed = false;
  orders_->on_loop([&] { changed = interfaces_.refresh(); });
  if (changed) redo_or_alarm("interfaces changed");
  orders_->on_loop([&] {
    if (changed) {
      if (const Result<bool> attached = interfaces_.attach(Which::fresh, config_.generic_xdp); !attached)
        log_->error("attach: {}", attached.error().message());
      watch_losses();
    }
    check();
  });
}

void Gateway::tick() {
  if (adoption_.trial_is_over() && clock_->monotonic_ns() >= next_rollback_try_ns_) {
    next_rollback_try_ns_ = clock_->monotonic_ns() + kRollbackRetry_ns;
    order_roll_back();
  }
  const std::optional<Served>& served = adoption_.served();
  if (adoption_.is_in_force()) {
    const UtcSeconds now = adoption_.now();
    if (served->changes_at && *served->changes_at <= now) order_redo("a time of validity passed");
    if (now.value + authority::kClockTolerance_s < served->judged_at.value)
      order_redo("the clock was set back");
  }
  adoption_.keep_closing_instant();
  log_change(*log_, alarms_.update(health().problems));
}

void Gateway::compact_when_due() {
  const std::optional<Result<ledger::CompactionReport>> done = compaction_.take_result();
  if (done && !*done) log_->warn("journal: not compacted: {}", done->error().message());
  if (done && *done && (*done)->compacted) {
    base_->lineage.replica.compacted(*(*done)->in_force);
    log_->info("journal: compacted {} records into base-{}, which keeps {} events", (*done)->records,
               (*done)->base, (*done)->kept_events);
    if (!(*done)->leftover.empty()) log_->warn("journal: old files stay for now: {}", (*done)->leftover);
  }
  compaction_.start_if_wanted();
}

void Gateway::look() {
  interfaces_.check_attached();
  const Result<bool> intact = dataplane::backstop_intact(interfaces_.backstop(config_));
  backstop_intact_ = intact && *intact;
}

void Gateway::check() {
  look();
  // A failure poisons the journal, which health() reports.
  [[maybe_unused]] const Result<> ours = base_->lineage.journal->still_ours();
  compact_when_due();
  if (!base_->lineage.authority.adopted || adoption_.is_in_force() || starting_) {
    checks_until_retry_ = kChecksBetweenRetries;
  } else if (checks_until_retry_-- == 0) {
    checks_until_retry_ = kChecksBetweenRetries;
    order_redo("the adopted snapshot is in force at last");
  }
}

Result<> Gateway::install(const dataplane::BackstopRules& rules) {
  const Result<bool> intact = dataplane::backstop_intact(rules);
  if (intact && *intact) return {};
  return dataplane::install_backstop(rules);
}

Result<> Gateway::stop() {
  return base_->lineage.journal->close();
}

}  // namespace postern::agent
