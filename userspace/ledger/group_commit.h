// SPDX-License-Identifier: Apache-2.0
// Group commit (SPEC 4.5 rule 3): a batch is what arrived while the last flush ran; no timer waits for more.
//
// What arrives joins the last batch in the queue while that has room. Batches are written one at a time, by a
// leader. A thread that arrives when nobody leads does it itself: a lone writer pays for no change of
// threads. What arrives while somebody leads is left to the flush thread, which goes on until the queue is
// empty. A leader that is done opens the batch's gate and goes on: the next flush is under way while those
// who waited wake up, and none of them needs the mutex for it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/gate.h"
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
  struct Submission {
    std::vector<std::string> payloads;
    std::size_t end = 0;  // as Batch::result_at() takes it
    Done done;
  };
  struct Batch {
    std::vector<BatchItem> items;  // their bytes belong to threads that wait, or to submissions
    std::size_t bytes = 0;
    std::deque<Submission> submissions;
    Result<Lseq> result = Lseq();  // set before the gate opens
    Gate written;

    // Of the items before `end`, the last one.
    Result<Lseq> result_at(std::size_t end) const;
  };

  // Adds to the last batch, or a new one. Called with the mutex held.
  std::shared_ptr<Batch> join(std::span<const BatchItem> items);
  // Writes the first batch in the queue. Comes back without the lock.
  void lead(std::unique_lock<std::mutex>& lock);
  void run_flush_thread();

  const std::size_t max_batch_bytes_;
  const Write write_;
  std::mutex mutex_;
  std::condition_variable flush_wake_;
  std::deque<std::shared_ptr<Batch>> queue_;
  bool leading_ = false;
  bool stopping_ = false;
  std::thread flush_thread_;
};

}  // namespace postern::ledger
