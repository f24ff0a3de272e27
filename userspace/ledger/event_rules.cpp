// SPDX-License-Identifier: Apache-2.0
#include "ledger/event_rules.h"

namespace postern::ledger {

std::vector<EventSummary::Rule> compaction_rules() {
  return {};
}

}  // namespace postern::ledger
