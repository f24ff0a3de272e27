// SPDX-License-Identifier: Apache-2.0
// The clocks, as a value that can be handed in: code that decides by time takes a Clock, never reads one
// itself.
#pragma once

#include <cstdint>

#include "core/ids.h"

namespace postern {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::uint64_t boot_ns() const = 0;       // CLOCK_BOOTTIME: counts sleep, as bpf_ktime_get_boot_ns
  virtual std::uint64_t monotonic_ns() const = 0;  // CLOCK_MONOTONIC: does not count sleep
  virtual std::int64_t wall_ms() const = 0;        // UTC milliseconds; may step, never a floor
  UtcSeconds now_utc() const { return UtcSeconds(wall_ms() / 1000); }
};

class SystemClock final : public Clock {
 public:
  std::uint64_t boot_ns() const override;
  std::uint64_t monotonic_ns() const override;
  std::int64_t wall_ms() const override;
};

}  // namespace postern
