// SPDX-License-Identifier: Apache-2.0
#include "sync/verify_pool.h"

#include <algorithm>
#include <memory>

namespace postern::sync {

VerifyPool::VerifyPool(Post post, unsigned threads) : post_(std::move(post)) {
  const unsigned number = threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < number; ++i)
    threads_.emplace_back([this] { work(); });
}

VerifyPool::~VerifyPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    orders_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void VerifyPool::verify(VerifyJob job, Done done) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back({std::move(job), std::move(done)});
  }
  wake_.notify_one();
}

void VerifyPool::work() {
  while (true) {
    Order order;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return ends_ || !orders_.empty(); });
      if (ends_) return;
      order = std::move(orders_.front());
      orders_.pop_front();
    }
    // std::function wants to be copied; a verdict is moved.
    auto verdict = std::make_shared<Verdict>(sync::verify(order.job));
    post_([done = std::move(order.done), verdict] { done(std::move(*verdict)); });
  }
}

}  // namespace postern::sync
