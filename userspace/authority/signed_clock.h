// SPDX-License-Identifier: Apache-2.0
// What time it may be, as far as signatures tell (SPEC 3.8). The local clock is believed only where it does
// not contradict them: it cannot be earlier than the latest signed time of issue, and hardly decades later.
// While it is suspect nothing expires by it, so a gateway without a battery-backed clock starts and serves.
// No local time is ever remembered as a floor.
#pragma once

#include <cstdint>

#include "core/ids.h"

namespace postern::authority {

// Clocks of those who sign may be ahead by so much without anybody being suspect.
inline constexpr std::int64_t kClockTolerance_s = 60;
// An authority that signed nothing for so long is less likely than a clock that went astray.
inline constexpr std::int64_t kClockHorizon_s = std::int64_t{10} * 365 * 86'400;

enum class ClockVerdict { plausible, behind, far_ahead };

// `floor`: the highest signed time of issue; 0 when nothing signed was seen yet, and then nothing is suspect.
ClockVerdict judge_clock(UtcSeconds wall, UtcSeconds floor);

// The time by which validity is judged: the wall clock, never below the floor; the floor alone while the
// clock is suspect.
UtcSeconds trusted_now(UtcSeconds wall, UtcSeconds floor);

}  // namespace postern::authority
