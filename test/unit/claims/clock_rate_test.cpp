// SPDX-License-Identifier: Apache-2.0
#include "claims/clock_rate.h"

#include <doctest/doctest.h>

#include "claims/timing.h"

using namespace postern::claims;

namespace {

// Beats of a node whose clock runs at so many thousandths of this one's.
struct Beats {
  std::uint64_t permille;
  ClockRate rate;
  std::uint64_t now_ms = 5'000'000;
  std::uint64_t made_ms = 77'000;

  // One each second; each comes after the next of these delays.
  void hear(unsigned seconds, std::uint64_t delay_ms = 0) {
    for (unsigned i = 0; i < seconds; ++i) {
      now_ms += 1000;
      made_ms += permille;
      rate.note(made_ms, (now_ms + delay_ms) * kMillisecond_ns);
    }
  }
};

}  // namespace

TEST_CASE("clocks that run apart by what rho allows each of them are no news") {
  for (const std::uint64_t permille : {803, 890, 1000, 1110, 1246}) {
    CAPTURE(permille);
    Beats beats{permille, {}};
    beats.hear(300);
    REQUIRE(beats.rate.permille());
    CHECK(*beats.rate.permille() + 1 >= permille);
    CHECK(*beats.rate.permille() <= permille + 1);
    CHECK_FALSE(beats.rate.is_beyond_rho());
  }
}

TEST_CASE("clocks that run apart by more than rho allows are told of, and no more once they do not") {
  for (const std::uint64_t permille : {500, 740, 1350, 3000}) {
    CAPTURE(permille);
    Beats beats{permille, {}};
    beats.hear(130);
    CHECK(beats.rate.is_beyond_rho());
    beats.permille = 1000;
    beats.hear(200);
    CHECK_FALSE(beats.rate.is_beyond_rho());
  }
}

TEST_CASE("nothing is said of a clock before two windows were watched") {
  Beats beats{300, {}};
  beats.hear(60);
  CHECK_FALSE(beats.rate.permille());
  CHECK_FALSE(beats.rate.is_beyond_rho());
}

TEST_CASE("what comes late, or late in a burst, says nothing of a clock") {
  Beats beats{1000, {}};
  beats.hear(100);
  beats.hear(1, 0);
  // Cut for half a minute: what was sent meanwhile comes at once afterwards.
  for (unsigned left = 30; left > 0; --left) {
    beats.made_ms += 1000;
    beats.rate.note(beats.made_ms, (beats.now_ms + 30'000) * kMillisecond_ns);
  }
  beats.now_ms += 30'000;
  for (unsigned i = 0; i < 200; ++i) {
    beats.hear(1, i % 7 * 285);
    CHECK_FALSE(beats.rate.is_beyond_rho());
  }
}

TEST_CASE("a way that gets faster by D is not taken for a clock beyond rho, at the very edge of it") {
  Beats beats{1245, {}};
  beats.hear(70, 1990);
  for (unsigned i = 0; i < 130; ++i) {
    beats.hear(1);
    CHECK_FALSE(beats.rate.is_beyond_rho());
  }
}

TEST_CASE("a host that started anew is watched anew") {
  Beats beats{1000, {}};
  beats.hear(200);
  beats.made_ms = 500;
  beats.hear(61);
  CHECK_FALSE(beats.rate.permille());
  CHECK_FALSE(beats.rate.is_beyond_rho());
}
