// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"

#include <ctime>

namespace postern {
namespace {

std::uint64_t read_ns(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

std::uint64_t SystemClock::boot_ns() const {
  return read_ns(CLOCK_BOOTTIME);
}
std::uint64_t SystemClock::monotonic_ns() const {
  return read_ns(CLOCK_MONOTONIC);
}
std::int64_t SystemClock::wall_ms() const {
  return static_cast<std::int64_t>(read_ns(CLOCK_REALTIME) / 1'000'000U);
}

}  // namespace postern
