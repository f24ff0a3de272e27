// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "observe/health.h"
#include "observe/observation.h"

namespace postern::observe {

// What the loop last said of itself; never changed once it is published.
struct Report {
  std::uint64_t made_monotonic_ns = 0;
  Observation observation;
  Health health;
  std::string status_json;
};

// Hands reports from the loop to the threads that serve them.
class Publication {
 public:
  // `ask` is called from any thread and has the loop publish soon. Without it, reports come when they come.
  explicit Publication(std::function<void()> ask = {}) : ask_(std::move(ask)) {}

  void publish(std::shared_ptr<const Report> report) {
    {
      const std::lock_guard hold(mutex_);
      report_ = std::move(report);
      ++published_;
    }
    news_.notify_all();
  }

  // A report made now, or the last one when the loop takes longer than `patience`; nullptr before the first
  // one.
  std::shared_ptr<const Report> fresh(std::chrono::milliseconds patience) {
    std::unique_lock hold(mutex_);
    if (ask_) {
      const std::uint64_t before = published_;
      hold.unlock();
      ask_();
      hold.lock();
      news_.wait_for(hold, patience, [&] { return published_ != before; });
    }
    return report_;
  }

 private:
  std::function<void()> ask_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::uint64_t published_ = 0;
  std::shared_ptr<const Report> report_;
};

}  // namespace postern::observe
