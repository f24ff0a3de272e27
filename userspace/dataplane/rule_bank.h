// SPDX-License-Identifier: Apache-2.0
// Counters of rules. A rule is known by its place in the snapshot's list, so another list counts in the other
// bank (`pt_gateway.rule_bank`), from zero; an equal one goes on in the same.
#pragma once

#include <vector>

#include "core/result.h"
#include "dataplane/plane.h"
#include "dataplane/tables.h"

namespace postern::dataplane {

// Zeroes the counters of the rules in `tables.policy`. No packet may be counting in this bank.
Result<> clear_rule_bank(const Plane& plane, std::uint8_t bank, const Tables& tables);

// Packets and bytes by rule, summed over CPUs; `rules` of them, of which those from PT_MAX_RULE_COUNTS on are
// not counted and left out.
Result<std::vector<pt_count>> read_rule_bank(const Plane& plane, std::uint8_t bank, std::size_t rules);

}  // namespace postern::dataplane
