// SPDX-License-Identifier: Apache-2.0
// Group commit (SPEC 4.5 rule 3): a batch is what arrived while the last flush ran; no timer waits for more.
//
// Batches are written one at a time, by a leader. A thread that waits for its own batch leads when nobody
// does and it is the first in the queue: a lone writer pays for no change of threads. What was submitted
// without waiting is led by the flush thread. The leader takes what is queued up to the size of a batch,
// writes without holding the mutex, hands over to whoever is first in the queue then, and tells those who
// wait: the next flush is under way while they wake up, and none of them needs the mutex for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/result.h"
#include "ledger/segment_writer.h"

namespace postern::ledger {

class GroupCommit {
 public:
  // Writes one batch; durable on return. Returns the lseq of the last item, those before it being dense.
  using Write = std::function<Result<Lseq>(std::span<const BatchItem>)>;
  using Done = std::function<void(Result<Lseq>)>;

  GroupCommit(std::size_t max_batch_bytes, Write write);
  // Writes what is still queued first.
  ~GroupCommit();
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // Waits for the flush. `items` are next to each other in one batch, and fit one. Returns the lseq of the
  // last.
  Result<Lseq> commit(std::span<const BatchItem> items);
  // Does not wait. `done` is called once, on the thread that led the batch, in the order of submission; it
  // must be short, for the next flush waits for it, and may call submit().
  void submit(RecordType type, std::vector<std::string> payloads, Done done);

 private:
  enum class Turn { waits, leads, ends };
  struct Entry {
    std::vector<std::string> owned;  // payloads of a submitted one
    std::vector<BatchItem> items;
    std::size_t bytes = 0;
    Done done;                             // of a submitted one
    std::atomic<Turn> turn = Turn::waits;  // of a waiting one
    Result<Lseq> result = Lseq();          // set before its turn ends
  };

  static std::size_t bytes_of(std::span<const BatchItem> items);
  static bool waits(const Entry& entry) { return !entry.done; }
  // Comes back without the lock.
  void lead(std::unique_lock<std::mutex>& lock);
  std::vector<std::shared_ptr<Entry>> take_batch();
  void hand_over();
  void run_flush_thread();

  const std::size_t max_batch_bytes_;
  const Write write_;
  std::mutex mutex_;
  std::condition_variable flush_wake_;
  std::deque<std::shared_ptr<Entry>> queue_;
  bool leading_ = false;
  bool stopping_ = false;
  std::thread flush_thread_;
};

}  // namespace postern::ledger
