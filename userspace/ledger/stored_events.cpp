// SPDX-License-Identifier: Apache-2.0
#include "ledger/stored_events.h"

#include <algorithm>

namespace postern::ledger {
namespace {

const Record* find_in(const Page& page, Lseq lseq) {
  const auto at = std::lower_bound(page.events.begin(), page.events.end(), lseq,
                                   [](const Record& record, Lseq wanted) { return record.lseq < wanted; });
  return at != page.events.end() && at->lseq == lseq ? &*at : nullptr;
}

}  // namespace

Result<std::string> StoredEvents::read(Lseq lseq) {
  for (auto page = pages_.begin(); page != pages_.end(); ++page) {
    const Record* record = find_in(*page, lseq);
    if (record == nullptr) continue;
    pages_.splice(pages_.begin(), pages_, page);
    return record->payload;
  }
  Cursor from;
  from.next = lseq;
  Result<Page> page = journal_->read_page(from, PageLimits{});
  if (!page) return pass_on(std::move(page));
  const Record* record = find_in(*page, lseq);
  if (record == nullptr) return fail(errc::absent, "no event stands at record " + std::to_string(lseq.value));
  std::string payload = record->payload;
  pages_.push_front(std::move(*page));
  if (pages_.size() > kPages) pages_.pop_back();
  return payload;
}

}  // namespace postern::ledger
