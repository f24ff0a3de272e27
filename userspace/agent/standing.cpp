// SPDX-License-Identifier: Apache-2.0
#include "agent/standing.h"

#include "agent/witness.h"
#include "authority/timestamp_rules.h"
#include "core/utc.h"

namespace postern::agent {
namespace {

std::string number(Serial serial) {
  return "serial " + std::to_string(serial.value);
}

std::string clock_problem(authority::ClockVerdict verdict, UtcSeconds floor, UtcSeconds wall) {
  return "clock_suspect: the clock says " + utc_text(wall) + ", which is " +
         (verdict == authority::ClockVerdict::behind ? "before" : "absurdly long after") +
         " the last signed time of issue, " + utc_text(floor) +
         "; nothing expires until it is right: set it, or have NTP set it";
}

std::string conflict_problem(const ledger::AuthorityEquivocated& conflict) {
  return "the authority vouched for two snapshots of " + number(conflict.id.serial) +
         "; nothing is adopted until a recovery: see `postern authority show --conflict`, have a higher "
         "serial "
         "signed, and bring it in with `postern authority recover --bundle FILE`";
}

std::string frozen_problem(const ledger::AuthorityState& state) {
  if (!state.timestamp)
    return "frozen: no timestamp vouches that the adopted snapshot is the newest; see to the source of "
           "timestamps, or have the authority sign one (postern authority timestamp)";
  return "frozen: the last timestamp was issued at " + utc_text(state.timestamp->issued) +
         " and is valid until " + utc_text(state.timestamp->expires) +
         "; see to the source of timestamps, or have the authority sign a new one (postern authority "
         "timestamp)";
}

}  // namespace

Standing standing_of(const ledger::AuthorityState& state, std::int64_t timestamp_max_age_s, UtcSeconds wall) {
  Standing out;
  if (!state.adopted) return out;
  out.clock = authority::judge_clock(wall, state.clock_floor);
  const UtcSeconds now = authority::trusted_now(wall, state.clock_floor);
  const authority::Freshness fresh = authority::freshness(*state.adopted, last_timestamp(state),
                                                          state.clock_floor, timestamp_max_age_s, now);
  out.behind = fresh.behind;
  out.frozen = fresh.frozen && out.clock == authority::ClockVerdict::plausible;
  out.in_conflict = state.conflict.has_value();
  if (state.reverted) out.refused = state.adopted->serial;
  out.unconfirmed_until = state.unconfirmed_until;
  return out;
}

std::vector<std::string> problems_of(const Standing& standing, const ledger::AuthorityState& state,
                                     UtcSeconds wall) {
  std::vector<std::string> problems;
  if (standing.in_conflict) problems.push_back(conflict_problem(*state.conflict));
  if (standing.clock != authority::ClockVerdict::plausible)
    problems.push_back(clock_problem(standing.clock, state.clock_floor, wall));
  if (standing.frozen) problems.push_back(frozen_problem(state));
  if (standing.behind) {
    problems.push_back("behind: the authority vouches for " + number(*standing.behind) + ", adopted is " +
                       number(state.adopted->serial) + "; fetch and apply the newer snapshot");
  }
  if (standing.refused) {
    problems.push_back(number(*standing.refused) + " is rolled back: " + number(state.previous->id.serial) +
                       " is served, less what was revoked since; sign and apply a corrected, higher serial");
  }
  if (standing.unconfirmed_until) {
    problems.push_back(number(state.adopted->serial) + " is on trial until " +
                       utc_text(*standing.unconfirmed_until) +
                       " and is rolled back then; `postern confirm` keeps it");
  }
  return problems;
}

}  // namespace postern::agent
