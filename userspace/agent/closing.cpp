// SPDX-License-Identifier: Apache-2.0
#include "agent/closing.h"

#include <algorithm>

#include "authority/signed_clock.h"

namespace postern::agent {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kMsPerSecond = 1000;
// Beyond it the sum of clock and span would not fit; nobody waits for that.
constexpr std::int64_t kLongestSpan_s = std::int64_t{100} * 365 * 86'400;

}  // namespace

std::uint64_t closing_instant_ns(authority::OnExpiry on_expiry, UtcSeconds expires, UtcSeconds floor,
                                 const Clock& clock) {
  if (on_expiry != authority::OnExpiry::close) return 0;
  const std::int64_t wall_ms = clock.wall_ms();
  if (authority::judge_clock(UtcSeconds(wall_ms / kMsPerSecond), floor) != authority::ClockVerdict::plausible)
    return 0;
  const std::int64_t now_ms = std::max(wall_ms, floor.value * kMsPerSecond);
  if (expires.value - now_ms / kMsPerSecond > kLongestSpan_s) return 0;
  const std::int64_t left_ms = expires.value * kMsPerSecond - now_ms;
  const std::int64_t instant_ns = static_cast<std::int64_t>(clock.monotonic_ns()) + left_ms * kNsPerMs;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(instant_ns, 1));
}

}  // namespace postern::agent
