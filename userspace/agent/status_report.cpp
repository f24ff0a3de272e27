// SPDX-License-Identifier: Apache-2.0
#include "agent/status_report.h"

#include <unistd.h>

#include <array>
#include <set>

#include "agent/authority_report.h"
#include "dataplane/counters.h"

namespace postern::agent {
namespace {

using wire::Json;

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::size_t kDigestMetricBytes = 6;  // a double holds 53 bits

Json number(std::uint64_t value) {
  return Json(static_cast<std::int64_t>(value));
}

Json interfaces_json(const Interfaces& interfaces) {
  Json list = Json::array();
  for (const InterfaceState& state : interfaces.states()) {
    Json json = Json::object({{"name", state.configured.name},
                              {"role", role_text(state.configured.role)},
                              {"segment", nullptr},
                              {"ifindex", nullptr},
                              {"mode", mode_text(state.mode)},
                              {"mtu", nullptr}});
    if (!state.configured.segment.empty()) json.set("segment", state.configured.segment);
    if (state.ifindex) {
      json.set("ifindex", state.ifindex->value);
      json.set("mtu", state.mtu);
    }
    list.push(std::move(json));
  }
  return list;
}

Json journal_json(const ledger::Journal& journal, const ledger::Restraint& restraint) {
  const ledger::JournalStatus status = journal.status();
  const ledger::RecoveryReport& recovery = journal.recovery();
  Json json = Json::object({{"id", to_hex(status.journal)},
                            {"head", Json::decimal(status.head.value)},
                            {"segment", number(status.segment)},
                            {"bytes", Json::decimal(status.bytes)},
                            {"poisoned", status.poisoned},
                            {"poison_reason", nullptr},
                            {"recovery", recovery_class_name(recovery.found)},
                            {"may_claim", restraint.may_claim()},
                            {"may_spend", restraint.may_spend()},
                            {"restraint", nullptr},
                            {"clean_stop", recovery.clean_stop}});
  if (status.poisoned) json.set("poison_reason", status.poison_reason);
  if (!restraint.why().empty()) json.set("restraint", restraint.why());
  return json;
}

Json links_json(const LinksStatus& links) {
  return Json::object({{"on", links.on},
                       {"up", number(links_up(links))},
                       {"gateways", number(links.rows.size())},
                       {"listening", number(links.listening.size())}});
}

// What the events come to: equal digests on two gateways mean the same events on both.
Json events_json(const ledger::Fold& fold) {
  std::int64_t forked = 0;
  for (const auto& [id, state] : fold.streams())
    forked += state.fork ? 1 : 0;
  return Json::object({{"digest", to_hex(fold.digest())},
                       {"forked_streams", forked},
                       {"lamport", number(fold.lamport().value)},
                       {"streams", number(fold.stream_count())}});
}

// The kernel closes at its instant, before the agent hears of it.
bool is_open(const Gateway& gateway) {
  const std::optional<Served>& served = gateway.adoption().served();
  const bool open = served ? served->open : gateway.foundation().kernel_open;
  const std::uint64_t closes_ns = gateway.foundation().generations->closes_ns();
  return open && (closes_ns == 0 || gateway.clock().monotonic_ns() < closes_ns);
}

observe::LinkObservation link_observation(const mesh::LinkRow& row, const sync::SyncRow* sync) {
  observe::LinkObservation out{row.gateway, row.state == mesh::LinkState::up, row.rtt_ns};
  if (sync == nullptr) return out;
  out.events_in = sync->events_in;
  out.events_out = sync->events_out;
  out.events_missing = sync->missing;
  out.throttled = sync->penalty_left_ns > 0;
  return out;
}

void observe_claims(const ClaimsStatus& claims, observe::Observation& seen) {
  constexpr std::size_t kMostEpochs = 64;
  std::array<std::uint64_t, claims::kStandings> counts{};
  for (const claims::ResourceView& view : claims.resources) {
    ++counts[static_cast<std::size_t>(view.standing)];
    if (view.top && seen.resources.size() < kMostEpochs)
      seen.resources.push_back({view.id, view.top->token.epoch.value});
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    seen.claims.emplace_back(claims::standing_name(static_cast<claims::Standing>(i)), counts[i]);
  std::set<ResourceNumber> in_conflict;
  for (const ledger::Conflict& conflict : claims.conflicts)
    if (stands(conflict, claims)) in_conflict.insert(conflict.claim.resource);
  seen.conflicts = in_conflict.size();
  seen.claim_messages_refused = {{"malformed", claims.malformed}, {"forged", claims.forged}};
}

}  // namespace

wire::Json names_array(const std::vector<std::string_view>& names) {
  Json list = Json::array();
  for (const std::string_view name : names)
    list.push(name);
  return list;
}

wire::Json status_report(const Gateway& gateway, const observe::Health& health,
                         std::uint64_t started_monotonic_ns) {
  const std::optional<Served>& served = gateway.adoption().served();
  Json problems = Json::array();
  for (const std::string& problem : health.problems)
    problems.push(problem);
  const dataplane::SwapReport& swap = gateway.last_swap();
  return Json::object(
      {{"schema", "postern/status/v1"},
       {"version", POSTERN_VERSION},
       {"mesh", gateway.config().mesh},
       {"gateway", gateway.config().gateway},
       {"pid", static_cast<std::int64_t>(::getpid())},
       {"uptime_s", number((gateway.clock().monotonic_ns() - started_monotonic_ns) / kNsPerSecond)},
       {"ready", health.ready},
       {"live", true},
       {"problems", std::move(problems)},
       {"snapshot", snapshot_report(gateway)},
       {"authority", authority_report(gateway)},
       {"generation", number(gateway.foundation().generations->active().value)},
       {"open", is_open(gateway)},
       {"interfaces", interfaces_json(gateway.interfaces())},
       {"peers", number(served ? served->peers : 0)},
       {"prefixes", number(served ? served->prefixes : 0)},
       {"rules", number(served ? served->rules : 0)},
       {"events", events_json(gateway.foundation().lineage.replica.fold())},
       {"journal", journal_json(*gateway.foundation().lineage.journal, gateway.foundation().restraint)},
       {"links", links_json(gateway.links())},
       {"adoption",
        Json::object({{"changed", swap.changed}, {"tables_written", names_array(swap.tables_written)}})},
       {"backstop", gateway.backstop_intact()}});
}

observe::Observation observation(const Gateway& gateway) {
  const Foundation& base = gateway.foundation();
  observe::Observation seen;
  for (const InterfaceState& state : gateway.interfaces().states()) {
    observe::InterfaceObservation interface { state.configured.name, state.mode, {}, std::nullopt };
    if (const auto verdicts = dataplane::read_verdicts(*base.plane, state.slot))
      interface.verdicts = *verdicts;
    if (gateway.losses() != nullptr && state.ifindex)
      interface.lost = gateway.losses()->read(state.carrier ? state.carrier->ifindex : *state.ifindex);
    seen.interfaces.push_back(std::move(interface));
  }
  if (const auto verdicts = dataplane::read_verdicts(*base.plane, PT_PORT_SLOT_UNKNOWN))
    seen.interfaces.push_back(
        {std::string(dataplane::kUnknownInterface), std::nullopt, *verdicts, std::nullopt});
  if (const auto drops = dataplane::read_drops(*base.plane)) seen.drops = *drops;
  if (const auto incidents = dataplane::read_incidents(*base.plane)) seen.incidents = *incidents;
  if (const auto lost = dataplane::read_events_lost(*base.plane)) seen.events_lost = *lost;

  if (base.lineage.authority.adopted) seen.adopted_serial = base.lineage.authority.adopted->serial;
  seen.active_serial = base.kernel.serial;
  if (const std::optional<Served>& served = gateway.adoption().served()) {
    seen.active_serial = served->serial;
    seen.expires = served->expires;
    seen.tables = served->tables;
    seen.peers = served->peers_by_state;
  }
  const Standing standing = gateway.standing();
  seen.clock_suspect = standing.clock != authority::ClockVerdict::plausible;
  seen.authority_conflict = standing.in_conflict;
  seen.authority_frozen = standing.frozen;
  seen.authority_on_trial = standing.unconfirmed_until.has_value();
  seen.authority_reverted = standing.refused.has_value();
  if (const auto& timestamp = base.lineage.authority.timestamp) {
    seen.announced_serial = timestamp->id.serial;
    seen.timestamp_expires = timestamp->expires;
  }
  seen.generation = base.generations->active();
  if (const Result<unsigned> alive = base.generations->alive()) seen.generations_alive = *alive;
  seen.apply_duration = gateway.adoption().durations();
  seen.apply_failures = gateway.adoption().failures().by_stage();

  const SourceStatus& source = gateway.source();
  seen.source_looks = {
      {"offered", source.offered}, {"unchanged", source.unchanged}, {"failed", source.failures}};
  if (!source.name.empty()) seen.source_ok = source.problem.empty();

  const ledger::JournalStatus journal = base.lineage.journal->status();
  seen.journal_bytes = journal.bytes;
  seen.journal_flushes = journal.flushes;
  seen.journal_flush_seconds = journal.flush_seconds;
  seen.journal_poisoned = journal.poisoned;
  const ledger::Fold& fold = base.lineage.replica.fold();
  const Hash256 digest = fold.digest();
  for (std::size_t i = 0; i < kDigestMetricBytes; ++i)
    seen.events_digest = seen.events_digest << 8 | digest[i];
  for (const auto& [id, state] : fold.streams())
    ++(state.fork ? seen.streams_forked : seen.streams_whole);
  seen.journal_torn = base.lineage.journal->recovery().found == ledger::RecoveryClass::torn ? 1 : 0;
  seen.backstop_intact = gateway.backstop_intact();
  observe_claims(gateway.claims(), seen);
  for (const mesh::LinkRow& row : gateway.links().rows)
    seen.links.push_back(link_observation(row, gateway.sync().find(row.gateway)));
  for (const sync::SyncCount& count : sync::named(gateway.sync().counts))
    seen.sync_results.emplace_back(count.name, count.value);
  for (const sync::SyncCount& count : sync::named(gateway.sync().snapshots.counts))
    seen.snapshot_results.emplace_back(count.name, count.value);
  seen.link_refusals = gateway.links().refusals;
  seen.link_timeouts = gateway.links().timeouts;
  return seen;
}

}  // namespace postern::agent
