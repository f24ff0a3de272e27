// SPDX-License-Identifier: Apache-2.0
// Time and chance of a simulated mesh. True time is the world's; each host has clocks of its own that run
// fast or slow.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/clock.h"
#include "sim/random_source.h"

namespace postern::sim {

using ledger::sim::RandomSource;

inline constexpr std::uint64_t kMs_ns = 1'000'000;
inline constexpr std::uint64_t kS_ns = 1000 * kMs_ns;

struct World {
  explicit World(std::uint64_t seed) : random(seed) {}

  std::uint64_t now_ns = 100 * kS_ns;
  RandomSource random;
  std::function<void(const std::string&)> observer;  // may be empty

  void say(const std::string& text) const {
    if (observer) observer(std::to_string(now_ns / kMs_ns) + " " + text);
  }
};

// A host's clocks. Sleep is counted by the one of the boot and not by the monotonic one.
class DriftingClock final : public Clock {
 public:
  // `rate_permille`: 1000 is exact.
  DriftingClock(const World& world, std::uint64_t rate_permille)
      : world_(&world), rate_permille_(rate_permille), booted_ns_(world.now_ns) {}

  std::uint64_t boot_ns() const override {
    return kS_ns + (world_->now_ns - booted_ns_) / 1000 * rate_permille_;
  }
  std::uint64_t monotonic_ns() const override { return boot_ns() - slept_ns_; }
  std::int64_t wall_ms() const override { return static_cast<std::int64_t>(world_->now_ns / kMs_ns); }

  void reboot() {
    booted_ns_ = world_->now_ns;
    slept_ns_ = 0;
  }
  // So long of true time was slept.
  void sleep(std::uint64_t time_ns) { slept_ns_ += time_ns / 1000 * rate_permille_; }

 private:
  const World* world_;
  std::uint64_t rate_permille_;
  std::uint64_t booted_ns_;
  std::uint64_t slept_ns_ = 0;
};

}  // namespace postern::sim
