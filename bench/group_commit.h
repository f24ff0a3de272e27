// SPDX-License-Identifier: Apache-2.0
// Lets many threads share one transaction, for stores that cannot do so themselves: whoever finds nobody at
// work commits all that waits. The best that a program can make of such a store.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

namespace postern::bench {

class GroupCommit {
 public:
  using Commit = std::function<void(const std::vector<std::string_view>&)>;

  explicit GroupCommit(Commit commit) : commit_(std::move(commit)) {}

  // Returns when a commit that holds the record has returned.
  void put(std::string_view record) {
    std::unique_lock lock(mutex_);
    const std::size_t ticket = next_ticket_++;
    waiting_.push_back(record);
    done_.wait(lock, [&] { return committed_ > ticket || !working_; });
    if (committed_ > ticket) return;
    working_ = true;
    const std::vector<std::string_view> batch = std::move(waiting_);
    waiting_.clear();
    const std::size_t upto = next_ticket_;
    lock.unlock();
    commit_(batch);
    lock.lock();
    committed_ = upto;
    working_ = false;
    done_.notify_all();
  }

 private:
  Commit commit_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<std::string_view> waiting_;
  std::size_t next_ticket_ = 0;
  std::size_t committed_ = 0;
  bool working_ = false;
};

}  // namespace postern::bench
