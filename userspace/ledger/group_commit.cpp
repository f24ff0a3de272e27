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

std::size_t GroupCommit::bytes_of(std::span<const BatchItem> items) {
  std::size_t bytes = 0;
  for (const BatchItem& item : items)
    bytes += record_bytes(item.payload.size());
  return bytes;
}

Result<Lseq> GroupCommit::commit(std::span<const BatchItem> items) {
  const auto entry = std::make_shared<Entry>();
  entry->items.assign(items.begin(), items.end());
  entry->bytes = bytes_of(items);
  std::unique_lock<std::mutex> lock(mutex_);
  queue_.push_back(entry);
  if (leading_ || queue_.front() != entry) {
    lock.unlock();
    entry->turn.wait(Turn::waits);
    if (entry->turn.load() == Turn::ends) return std::move(entry->result);
    lock.lock();
  }
  lead(lock);  // its own entry is the first of the batch
  return std::move(entry->result);
}

void GroupCommit::submit(RecordType type, std::vector<std::string> payloads, Done done) {
  const auto entry = std::make_shared<Entry>();
  entry->owned = std::move(payloads);
  for (const std::string& payload : entry->owned)
    entry->items.push_back({type, payload});
  entry->bytes = bytes_of(entry->items);
  entry->done = std::move(done);
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.push_back(entry);
  if (!leading_) hand_over();
}

// At least one entry: each fits a batch.
std::vector<std::shared_ptr<GroupCommit::Entry>> GroupCommit::take_batch() {
  std::vector<std::shared_ptr<Entry>> batch;
  std::size_t bytes = 0;
  while (!queue_.empty() && (batch.empty() || bytes + queue_.front()->bytes <= max_batch_bytes_)) {
    bytes += queue_.front()->bytes;
    batch.push_back(queue_.front());
    queue_.pop_front();
  }
  return batch;
}

void GroupCommit::lead(std::unique_lock<std::mutex>& lock) {
  leading_ = true;
  const std::vector<std::shared_ptr<Entry>> batch = take_batch();
  lock.unlock();
  std::vector<BatchItem> items;
  for (const std::shared_ptr<Entry>& entry : batch)
    items.insert(items.end(), entry->items.begin(), entry->items.end());
  const Result<Lseq> written = write_(items);
  std::uint64_t behind = items.size();  // items of the batch after the entry at hand
  for (const std::shared_ptr<Entry>& entry : batch) {
    behind -= entry->items.size();
    entry->result = written;
    if (written) entry->result = Lseq(written->value - behind);
    if (!waits(*entry)) entry->done(entry->result);
  }
  lock.lock();
  leading_ = false;
  hand_over();
  lock.unlock();
  for (const std::shared_ptr<Entry>& entry : batch) {
    if (!waits(*entry)) continue;
    entry->turn.store(Turn::ends);
    entry->turn.notify_one();
  }
}

// Wakes whoever has to lead next. Called with the mutex held and nobody leading.
void GroupCommit::hand_over() {
  if (queue_.empty()) {
    if (stopping_) flush_wake_.notify_one();
    return;
  }
  if (waits(*queue_.front())) {
    queue_.front()->turn.store(Turn::leads);
    queue_.front()->turn.notify_one();
  } else {
    flush_wake_.notify_one();
  }
}

void GroupCommit::run_flush_thread() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    flush_wake_.wait(lock,
                     [this] { return !leading_ && (queue_.empty() ? stopping_ : !waits(*queue_.front())); });
    if (queue_.empty()) return;
    lead(lock);
    lock.lock();
  }
}

}  // namespace postern::ledger
