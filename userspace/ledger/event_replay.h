// SPDX-License-Identifier: Apache-2.0
// Replaying a journal of events (SPEC 4.6): signatures are what recovery spends its time with, so they are
// checked on all cores, a bounded number of events at a time; events that a base keeps are vouched for by its
// signature.
#pragma once

#include <functional>
#include <vector>

#include "core/result.h"
#include "ledger/event.h"
#include "ledger/record.h"

namespace postern::ledger {

class EventReplay {
 public:
  // Gets each event with its record, in order, on the caller's thread.
  using Sink = std::function<Result<>(const Record&, Event&&)>;

  // `threads` 0: one a core.
  explicit EventReplay(Sink sink, unsigned threads = 0);

  // The replay of Journal::open. Fails as open_event or the sink did, for this record or one before it.
  Result<> add(const Record& record);
  // Those that are still held back. Call it once, after the last add().
  Result<> finish();

 private:
  Result<> flush();

  Sink sink_;
  unsigned threads_;
  std::vector<Record> held_;
  std::size_t held_bytes_ = 0;
};

}  // namespace postern::ledger
