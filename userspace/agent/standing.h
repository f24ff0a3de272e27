// SPDX-License-Identifier: Apache-2.0
// How this gateway stands with its authority at a moment: what an operator should know beyond "adopted".
// Pure; the clock is handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "authority/signed_clock.h"
#include "core/ids.h"
#include "ledger/authority_log.h"

namespace postern::agent {

struct Standing {
  authority::ClockVerdict clock = authority::ClockVerdict::plausible;
  std::optional<Serial> behind;   // the authority vouches for this newer serial
  bool frozen = false;            // nobody vouches any more that the adopted snapshot is the newest
  bool in_conflict = false;       // the authority equivocated: nothing is adopted
  std::optional<Serial> refused;  // this serial was rolled back
  std::optional<UtcSeconds> unconfirmed_until;
};

// `timestamp_max_age_s`: 0 when the config demands no timestamps.
Standing standing_of(const ledger::AuthorityState& state, std::int64_t timestamp_max_age_s, UtcSeconds wall);

// One sentence each, with the remedy.
std::vector<std::string> problems_of(const Standing& standing, const ledger::AuthorityState& state,
                                     UtcSeconds wall);

}  // namespace postern::agent
