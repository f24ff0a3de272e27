// SPDX-License-Identifier: Apache-2.0
#include "sync/verify_pool.h"

#include <algorithm>
#include <tuple>

namespace postern::sync {
namespace {

// What a thread is woken for.
constexpr std::size_t kFewestInPart = 8;

}  // namespace

VerifyPool::VerifyPool(Post post, unsigned threads) : post_(std::move(post)) {
  const unsigned number = threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < number; ++i)
    threads_.emplace_back([this] { work(); });
}

VerifyPool::~VerifyPool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    parts_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

// One peer's events come a message at a time, so a message is shared out, or one core alone would work for
// it.
void VerifyPool::verify(VerifyJob job, Done done) {
  const std::size_t most = std::max<std::size_t>(1, job.sealed.size() / kFewestInPart);
  const std::size_t number = std::min<std::size_t>(threads_.size(), most);
  auto order = std::make_shared<Order>();
  order->done = std::move(done);
  order->left = number;
  order->verdicts.resize(number);
  std::size_t at = 0;
  for (std::size_t i = 0; i < number; ++i) {
    const std::size_t end = job.sealed.size() * (i + 1) / number;
    VerifyJob part{job.stream, job.step ? job.first : Seq(job.first.value + at), {}, job.step};
    for (; at < end; ++at)
      part.sealed.push_back(std::move(job.sealed[at]));
    order->parts.push_back(std::move(part));
  }
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < number; ++i)
      parts_.emplace_back(order, i);
  }
  wake_.notify_all();
}

Verdict VerifyPool::joined(std::vector<Verdict> verdicts) {
  Verdict out = std::move(verdicts.front());
  for (std::size_t i = 1; i < verdicts.size() && !out.forged && !out.unread; ++i) {
    Verdict& next = verdicts[i];
    for (ledger::VerifiedEvent& event : next.good)
      out.good.push_back(std::move(event));
    out.forged = next.forged;
    out.unread = next.unread;
    out.why = std::move(next.why);
  }
  return out;
}

void VerifyPool::work() {
  while (true) {
    std::shared_ptr<Order> order;
    std::size_t part = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return ends_ || !parts_.empty(); });
      if (ends_) return;
      std::tie(order, part) = std::move(parts_.front());
      parts_.pop_front();
    }
    order->verdicts[part] = sync::verify(order->parts[part]);
    if (--order->left > 0) continue;
    // std::function wants to be copied; a verdict is moved.
    auto verdict = std::make_shared<Verdict>(joined(std::move(order->verdicts)));
    post_([done = std::move(order->done), verdict] { done(std::move(*verdict)); });
  }
}

}  // namespace postern::sync
