// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ledger/summary.h"

namespace postern::ledger {

// What a compaction keeps of each kind of event that this version knows (SPEC 4.8), fresh. Kinds without a
// rule stay whole.
EventSummary::Rules compaction_rules();

}  // namespace postern::ledger
