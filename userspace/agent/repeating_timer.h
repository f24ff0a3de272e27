// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>

namespace postern::agent {

// Calls `due` on the loop, first after one period, then a period after each call has returned.
class RepeatingTimer {
 public:
  RepeatingTimer(asio::io_context& io, std::chrono::milliseconds period, std::function<void()> due)
      : timer_(io), period_(period), due_(std::move(due)) {
    wait();
  }
  RepeatingTimer(const RepeatingTimer&) = delete;
  RepeatingTimer& operator=(const RepeatingTimer&) = delete;

 private:
  void wait() {
    timer_.expires_after(period_);
    timer_.async_wait([this](const std::error_code& error) {
      if (error) return;
      due_();
      wait();
    });
  }

  asio::steady_timer timer_;
  std::chrono::milliseconds period_;
  std::function<void()> due_;
};

}  // namespace postern::agent
