// SPDX-License-Identifier: Apache-2.0
#include "claims/clock_rate.h"

#include "claims/timing.h"

namespace postern::claims {
namespace {

constexpr std::uint64_t kWindow_ms = 60'000;
constexpr std::uint64_t kDelivery_ms = kDelivery_ns / kMillisecond_ns;
static_assert(kWindow_ms / 2 * kRho_permille / 1000 > kDelivery_ms,
              "a delay is less than what is looked for");

}  // namespace

void ClockRate::note(std::uint64_t made_ms, std::uint64_t now_boot_ns) {
  const Sample sample{made_ms, now_boot_ns / kMillisecond_ns};
  // Its host started anew.
  if (made_ms < newest_ms_) *this = {};
  newest_ms_ = made_ms;
  if (!best_) began_ms_ = sample.came_ms;
  // came - made, without a sign: which of two is less delayed.
  if (!best_ || sample.came_ms + best_->made_ms <= best_->came_ms + sample.made_ms) best_ = sample;
  if (sample.came_ms - began_ms_ < kWindow_ms) return;
  if (before_ && best_->came_ms - before_->came_ms >= kWindow_ms / 2) judge(*before_, *best_);
  before_ = best_;
  best_.reset();
}

void ClockRate::judge(const Sample& from, const Sample& to) {
  const std::uint64_t theirs_ms = to.made_ms - from.made_ms;
  const std::uint64_t own_ms = to.came_ms - from.came_ms;
  permille_ = theirs_ms * 1000 / own_ms;
  constexpr std::uint64_t kSlow = 1000 - kRho_permille;
  constexpr std::uint64_t kFast = 1000 + kRho_permille;
  beyond_rho_ = theirs_ms * kSlow > (own_ms + kDelivery_ms) * kFast ||
                (theirs_ms + kDelivery_ms) * kFast < own_ms * kSlow;
}

}  // namespace postern::claims
