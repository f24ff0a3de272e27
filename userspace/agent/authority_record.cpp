// SPDX-License-Identifier: Apache-2.0
#include "agent/authority_record.h"

#include <vector>

namespace postern::agent {

Result<> AuthorityRecord::write(std::span<const ledger::AuthorityEvent> events) {
  std::vector<ledger::Draft> drafts;
  for (const ledger::AuthorityEvent& event : events)
    drafts.push_back(ledger::draft_of(event));
  if (Result<> written = stream_->write(drafts); !written) return written;
  for (const ledger::AuthorityEvent& event : events)
    ledger::fold(*state_, event);
  return {};
}

}  // namespace postern::agent
