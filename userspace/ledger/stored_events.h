// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <string>

#include "core/result.h"
#include "ledger/journal.h"

namespace postern::ledger {

// Single events out of the journal, by lseq. Streams are sent in turns, so the same few pages are read over
// and over: they are kept, `kPages` of them.
class StoredEvents {
 public:
  static constexpr std::size_t kPages = 8;

  // `journal` must outlive this.
  explicit StoredEvents(const Journal& journal) : journal_(&journal) {}

  // The sealed event at `lseq`. errc::absent when no event stands there any more.
  Result<std::string> read(Lseq lseq);

 private:
  const Journal* journal_;
  std::list<Page> pages_;  // the one used last is first
};

}  // namespace postern::ledger
