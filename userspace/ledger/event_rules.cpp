// SPDX-License-Identifier: Apache-2.0
#include "ledger/event_rules.h"

#include "ledger/authority_retention.h"

namespace postern::ledger {

EventSummary::Rules compaction_rules() {
  EventSummary::Rules rules;
  rules.push_back(std::make_unique<AuthorityRetention>());
  return rules;
}

}  // namespace postern::ledger
