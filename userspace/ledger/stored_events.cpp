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

const Record* StoredEvents::find(Lseq lseq) {
  for (auto page = pages_.begin(); page != pages_.end(); ++page) {
    const Record* record = find_in(*page, lseq);
    if (record == nullptr) continue;
    pages_.splice(pages_.begin(), pages_, page);
    return record;
  }
  return nullptr;
}

// Null: the page that begins there does not reach as far.
Result<const Record*> StoredEvents::fetch(Lseq lseq, Lseq from) {
  Cursor cursor;
  cursor.next = from;
  PageLimits limits;
  limits.events = kPageEvents;
  Result<Page> page = journal_->read_page(cursor, limits);
  if (!page) return pass_on(std::move(page));
  if (find_in(*page, lseq) == nullptr) return nullptr;
  pages_.push_front(std::move(*page));
  if (pages_.size() > kPages) pages_.pop_back();
  return find_in(pages_.front(), lseq);
}

Result<std::string> StoredEvents::read(Lseq lseq) {
  if (const Record* const kept = find(lseq)) return kept->payload;
  const Lseq aligned(lseq.value / kPageEvents * kPageEvents);
  for (const Lseq from : {std::max(aligned, Lseq(1)), lseq}) {
    const Result<const Record*> record = fetch(lseq, from);
    if (!record) return tl::unexpected(record.error());
    if (*record != nullptr) return (*record)->payload;
  }
  return fail(errc::absent, "no event stands at record " + std::to_string(lseq.value));
}

}  // namespace postern::ledger
