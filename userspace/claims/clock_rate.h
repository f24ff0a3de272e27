// SPDX-License-Identifier: Apache-2.0
// How fast another node's clock runs, by this node's (SPEC 10.4). A beat says when it was made; what lies
// between that and its receipt is the difference of the clocks and its delay. Of each window the beat with
// the least delay counts, so that what came late in a burst says nothing.
#pragma once

#include <cstdint>
#include <optional>

namespace postern::claims {

class ClockRate {
 public:
  // A beat that was made then, by its node's CLOCK_BOOTTIME, came now. In the order of receipt.
  void note(std::uint64_t made_ms, std::uint64_t now_boot_ns);

  // In thousandths; none before two windows were watched.
  std::optional<std::uint64_t> permille() const { return permille_; }
  // The two clocks run apart by more than rho allows each of them, whatever the delays up to D were.
  bool is_beyond_rho() const { return beyond_rho_; }

 private:
  struct Sample {
    std::uint64_t made_ms = 0;
    std::uint64_t came_ms = 0;
  };

  void judge(const Sample& from, const Sample& to);

  std::optional<Sample> before_;  // the least delayed of the window before
  std::optional<Sample> best_;    // of this one
  std::uint64_t began_ms_ = 0;    // this window
  std::uint64_t newest_ms_ = 0;
  std::optional<std::uint64_t> permille_;
  bool beyond_rho_ = false;
};

}  // namespace postern::claims
