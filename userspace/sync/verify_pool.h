// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "sync/verifier.h"

namespace postern::sync {

// A thread a core. Results come back by `post`, in no particular order: whoever needs one has one job out at
// a time.
class VerifyPool final : public Verifier {
 public:
  using Post = std::function<void(std::function<void()>)>;

  // `threads` 0: one a core. `post` runs what it is given on the caller's thread, and must outlive this.
  explicit VerifyPool(Post post, unsigned threads = 0);
  VerifyPool(const VerifyPool&) = delete;
  VerifyPool& operator=(const VerifyPool&) = delete;
  // What is not begun is dropped.
  ~VerifyPool() override;

  void verify(VerifyJob job, Done done) override;

 private:
  // A job in parts, each for a thread; whoever is last hands the whole back.
  struct Order {
    std::vector<VerifyJob> parts;
    std::vector<Verdict> verdicts;
    std::atomic<std::size_t> left = 0;
    Done done;
  };
  static Verdict joined(std::vector<Verdict> verdicts);
  void work();

  Post post_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<std::shared_ptr<Order>, std::size_t>> parts_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace postern::sync
