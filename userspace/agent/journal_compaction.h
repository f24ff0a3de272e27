// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <optional>

#include "core/clock.h"
#include "core/result.h"
#include "ledger/journal.h"
#include "wire/sign.h"

namespace postern::agent {

// Compacts the journal beside the event loop (SPEC 4.8): it reads tens of megabytes, and packets, clients and
// appends do not wait for it.
class JournalCompaction {
 public:
  // All must outlive this; its end waits for a compaction that runs.
  JournalCompaction(ledger::Journal& journal, const wire::SecretKey& key, const Clock& clock)
      : journal_(journal), key_(key), clock_(clock) {}

  // Starts one if the journal has grown to its limit and none runs. After a failure only once more was
  // written.
  void start_if_wanted();
  // What one that has ended came to; each is told once.
  std::optional<Result<ledger::CompactionReport>> take_result();

 private:
  ledger::Journal& journal_;
  const wire::SecretKey& key_;
  const Clock& clock_;
  std::uint64_t tried_segment_ = 0;  // that was written when the last one began
  std::future<Result<ledger::CompactionReport>> running_;
};

}  // namespace postern::agent
