// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace postern::observe {

// Counts durations into fixed buckets, from a millisecond to half a minute.
class DurationHistogram {
 public:
  static constexpr std::array<double, 10> kUpperBoundsSeconds{0.001, 0.005, 0.01, 0.05, 0.1,
                                                              0.5,   1.0,   5.0,  10.0, 30.0};

  void observe(double seconds) {
    ++count_;
    sum_seconds_ += seconds;
    for (std::size_t i = 0; i < kUpperBoundsSeconds.size(); ++i)
      if (seconds <= kUpperBoundsSeconds[i]) ++cumulative_[i];
  }

  std::uint64_t count() const { return count_; }
  double sum_seconds() const { return sum_seconds_; }
  // Observations of at most kUpperBoundsSeconds[bucket].
  std::uint64_t at_most(std::size_t bucket) const { return cumulative_[bucket]; }

 private:
  std::uint64_t count_ = 0;
  double sum_seconds_ = 0;
  std::array<std::uint64_t, kUpperBoundsSeconds.size()> cumulative_{};
};

}  // namespace postern::observe
