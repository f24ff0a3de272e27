// SPDX-License-Identifier: Apache-2.0
#include "agent/closing.h"

#include <doctest/doctest.h>

#include "authority/signed_clock.h"

using namespace postern;
using namespace postern::agent;
using authority::OnExpiry;

namespace {

class SetClock final : public Clock {
 public:
  SetClock(std::int64_t wall_ms, std::uint64_t monotonic_ns)
      : wall_ms_(wall_ms), monotonic_ns_(monotonic_ns) {}
  std::uint64_t boot_ns() const override { return 0; }
  std::uint64_t monotonic_ns() const override { return monotonic_ns_; }
  std::int64_t wall_ms() const override { return wall_ms_; }

 private:
  std::int64_t wall_ms_;
  std::uint64_t monotonic_ns_;
};

constexpr std::uint64_t kSecond_ns = 1'000'000'000;
constexpr UtcSeconds kIssued{1'900'000'000};

std::uint64_t instant(std::int64_t expires_s, std::int64_t wall_ms, OnExpiry on_expiry = OnExpiry::close) {
  return closing_instant_ns(on_expiry, UtcSeconds(expires_s), kIssued, SetClock(wall_ms, 50 * kSecond_ns));
}

}  // namespace

TEST_CASE("a snapshot that closes on expiry does so at its expiry, by the clock that the kernel reads") {
  const std::int64_t now_ms = kIssued.value * 1000 + 2500;
  CHECK(instant(kIssued.value + 10, now_ms) == 50 * kSecond_ns + 7'500'000'000);
  CHECK(instant(kIssued.value + 10, now_ms, OnExpiry::hold) == 0);
  // Expired: an instant that is past, and never the word for "never".
  CHECK(instant(kIssued.value + 2, now_ms) == 50 * kSecond_ns - 500'000'000);
  CHECK(instant(kIssued.value - 100'000, now_ms) == 1);
}

TEST_CASE("nothing closes by a suspect clock, and a clock a little behind counts from what is signed") {
  const std::int64_t issued_ms = kIssued.value * 1000;
  const std::int64_t tolerance_ms = authority::kClockTolerance_s * 1000;
  CHECK(instant(kIssued.value + 10, issued_ms - tolerance_ms) == 60 * kSecond_ns);
  CHECK(instant(kIssued.value + 10, issued_ms - tolerance_ms - 1000) == 0);
  CHECK(instant(kIssued.value + 10, issued_ms + authority::kClockHorizon_s * 1000 + 1000) == 0);
}

TEST_CASE("an expiry centuries away is never reached") {
  CHECK(instant(INT64_C(9'007'199'254'740'991), kIssued.value * 1000) == 0);
}
