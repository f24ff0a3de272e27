// SPDX-License-Identifier: Apache-2.0
#include "authority/signed_clock.h"

#include <algorithm>

namespace postern::authority {

ClockVerdict judge_clock(UtcSeconds wall, UtcSeconds floor) {
  if (floor == UtcSeconds()) return ClockVerdict::plausible;
  if (wall.value < floor.value - kClockTolerance_s) return ClockVerdict::behind;
  if (wall.value > floor.value + kClockHorizon_s) return ClockVerdict::far_ahead;
  return ClockVerdict::plausible;
}

UtcSeconds trusted_now(UtcSeconds wall, UtcSeconds floor) {
  return judge_clock(wall, floor) == ClockVerdict::plausible ? std::max(wall, floor) : floor;
}

}  // namespace postern::authority
