// SPDX-License-Identifier: Apache-2.0
// A gate that many threads wait at and one opens, once. The opener wakes one thread, which wakes the others:
// it has better to do than that. std::atomic::wait would yield the processor a few times before it sleeps,
// which costs more than the sleep when the wait is as long as a disk takes.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace postern {

class Gate {
 public:
  // What was written before open() is seen by whoever comes back from wait().
  void wait() {
    while (state_.load(std::memory_order_acquire) == kShut)
      call(FUTEX_WAIT_PRIVATE, kShut);
    if (state_.exchange(kEmptied, std::memory_order_acq_rel) == kOpen) call(FUTEX_WAKE_PRIVATE, INT_MAX);
  }
  void open() {
    state_.store(kOpen, std::memory_order_release);
    call(FUTEX_WAKE_PRIVATE, 1);
  }

 private:
  static constexpr std::uint32_t kShut = 0;
  static constexpr std::uint32_t kOpen = 1;
  static constexpr std::uint32_t kEmptied = 2;  // somebody sees to it that all get through

  // Whatever it returns: the word says what to do.
  void call(int operation, std::uint32_t value) {
    (void)::syscall(SYS_futex, &state_, operation, value, nullptr, nullptr, 0);
  }

  std::atomic<std::uint32_t> state_ = kShut;
  static_assert(sizeof state_ == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free);
};

}  // namespace postern
