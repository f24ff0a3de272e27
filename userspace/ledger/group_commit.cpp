// SPDX-License-Identifier: Apache-2.0
#include "ledger/group_commit.h"

#include <utility>

namespace postern::ledger {

GroupCommit::GroupCommit(std::size_t max_batch_bytes, Write write)
    : max_batch_bytes_(max_batch_bytes),
      write_(std::move(write)),
      flush_thread_([this] { run_flush_thread(); }) {}

GroupCommit::~GroupCommit() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    flush_wake_.notify_one();
  }
  flush_thread_.join();
}

Result<Lseq> GroupCommit::Batch::result_at(std::size_t end) const {
  if (!result) return result;
  return Lseq(result->value - (items.size() - end));
}

std::shared_ptr<GroupCommit::Batch> GroupCommit::join(std::span<const BatchItem> items) {
  std::size_t bytes = 0;
  for (const BatchItem& item : items)
    bytes += record_bytes(item.payload.size());
  if (queue_.empty() || queue_.back()->bytes + bytes > max_batch_bytes_)
    queue_.push_back(std::make_shared<Batch>());
  const std::shared_ptr<Batch>& batch = queue_.back();
  batch->items.insert(batch->items.end(), items.begin(), items.end());
  batch->bytes += bytes;
  return batch;
}

Result<Lseq> GroupCommit::commit(std::span<const BatchItem> items) {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::shared_ptr<Batch> batch = join(items);
  const std::size_t end = batch->items.size();
  if (!leading_ && queue_.size() == 1) {
    lead(lock);
  } else {
    lock.unlock();
    batch->written.wait();
  }
  return batch->result_at(end);
}

void GroupCommit::submit(RecordType type, std::vector<std::string> payloads, Done done) {
  std::vector<BatchItem> items;
  for (const std::string& payload : payloads)
    items.push_back({type, payload});
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::shared_ptr<Batch> batch = join(items);
  // Moving the vector leaves its strings where the items see them.
  batch->submissions.push_back({std::move(payloads), batch->items.size(), std::move(done)});
  if (!leading_) flush_wake_.notify_one();
}

void GroupCommit::lead(std::unique_lock<std::mutex>& lock) {
  leading_ = true;
  const std::shared_ptr<Batch> batch = std::move(queue_.front());
  queue_.pop_front();
  lock.unlock();
  batch->result = write_(batch->items);
  for (const Submission& submission : batch->submissions)
    submission.done(batch->result_at(submission.end));
  lock.lock();
  leading_ = false;
  if (!queue_.empty() || stopping_) flush_wake_.notify_one();
  lock.unlock();
  batch->written.open();
}

void GroupCommit::run_flush_thread() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    flush_wake_.wait(lock, [this] { return !leading_ && (stopping_ || !queue_.empty()); });
    if (queue_.empty()) return;
    lead(lock);
    lock.lock();
  }
}

}  // namespace postern::ledger
