// SPDX-License-Identifier: Apache-2.0
#include "authority/signed_clock.h"

#include <doctest/doctest.h>

using namespace postern;
using namespace postern::authority;

namespace {

constexpr UtcSeconds kFloor(1'800'000'000);

UtcSeconds after(std::int64_t seconds) {
  return UtcSeconds(kFloor.value + seconds);
}

}  // namespace

TEST_CASE("a clock that agrees with what is signed is believed") {
  for (const std::int64_t seconds : {std::int64_t{0}, std::int64_t{1}, kClockHorizon_s}) {
    CHECK(judge_clock(after(seconds), kFloor) == ClockVerdict::plausible);
    CHECK(trusted_now(after(seconds), kFloor) == after(seconds));
  }
}

TEST_CASE(
    "a clock a little before the last time of issue is no reason for suspicion, but time is not before it") {
  CHECK(judge_clock(after(-kClockTolerance_s), kFloor) == ClockVerdict::plausible);
  CHECK(trusted_now(after(-kClockTolerance_s), kFloor) == kFloor);
}

TEST_CASE("a clock before what is signed, or decades after it, is suspect: time is then what is signed") {
  CHECK(judge_clock(after(-kClockTolerance_s - 1), kFloor) == ClockVerdict::behind);
  CHECK(judge_clock(UtcSeconds(0), kFloor) == ClockVerdict::behind);
  CHECK(judge_clock(after(kClockHorizon_s + 1), kFloor) == ClockVerdict::far_ahead);
  for (const UtcSeconds wall :
       {UtcSeconds(0), UtcSeconds(-1), after(kClockHorizon_s + 1), UtcSeconds(INT64_MAX)})
    CHECK(trusted_now(wall, kFloor) == kFloor);
}

TEST_CASE("before anything signed was seen, any clock is believed") {
  CHECK(judge_clock(UtcSeconds(0), UtcSeconds()) == ClockVerdict::plausible);
  CHECK(trusted_now(UtcSeconds(5), UtcSeconds()) == UtcSeconds(5));
}
