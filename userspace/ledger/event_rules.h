// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ledger/summary.h"

namespace postern::ledger {

// What a compaction keeps of each kind of event that this version knows (SPEC 4.8). Kinds without a rule stay
// whole.
std::vector<EventSummary::Rule> compaction_rules();

}  // namespace postern::ledger
