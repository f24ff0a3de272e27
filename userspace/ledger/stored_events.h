// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "core/result.h"
#include "ledger/journal.h"

namespace postern::ledger {

// Single events out of the journal, by lseq. Streams are sent in turns, so the same few pages are read over
// and over: they are kept, `kPages` of them. Pages begin at fixed places, or many short streams would each
// ask for one of its own.
class StoredEvents {
 public:
  static constexpr std::size_t kPages = 32;
  static constexpr std::uint64_t kPageEvents = 512;

  // `journal` must outlive this.
  explicit StoredEvents(const Journal& journal) : journal_(&journal) {}

  // The sealed event at `lseq`. errc::absent when no event stands there any more.
  Result<std::string> read(Lseq lseq);

 private:
  const Record* find(Lseq lseq);
  Result<const Record*> fetch(Lseq lseq, Lseq from);

  const Journal* journal_;
  std::list<Page> pages_;  // the one used last is first
};

}  // namespace postern::ledger
