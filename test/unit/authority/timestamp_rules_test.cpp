// SPDX-License-Identifier: Apache-2.0
#include "authority/timestamp_rules.h"

#include <doctest/doctest.h>

#include "unit/outcome.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;

namespace {

constexpr UtcSeconds kNow(1'000'000);

Adopted adopted() {
  return {Serial(7), Hash256{7}, {}, {}};
}

Timestamp timestamp(std::uint64_t serial, std::int64_t issued = kNow.value - 10) {
  return {"demo", Serial(serial), Hash256{static_cast<std::uint8_t>(serial)}, UtcSeconds(issued),
          UtcSeconds(issued + 100)};
}

std::string verdict(const Timestamp& next, const std::optional<Timestamp>& last = std::nullopt) {
  return outcome(may_follow(next, adopted(), last, kNow));
}

}  // namespace

TEST_CASE("a timestamp may vouch for the adopted snapshot or a newer one, again and again") {
  CHECK(verdict(timestamp(7)) == "ok");
  CHECK(verdict(timestamp(7), timestamp(7)) == "ok");
  CHECK(verdict(timestamp(8), timestamp(7, kNow.value - 50)) == "ok");
}

TEST_CASE("timestamps never go back: not in time, not in serial, not behind the adopted snapshot") {
  CHECK(verdict(timestamp(7, kNow.value - 11), timestamp(7)) == "timestamp.rollback");
  CHECK(verdict(timestamp(8), timestamp(9)) == "timestamp.rollback");
  CHECK(verdict(timestamp(6)) == "timestamp.rollback");
}

TEST_CASE("an expired timestamp vouches for nothing") {
  CHECK(verdict(timestamp(7, kNow.value - 100)) == "timestamp.expired");
  CHECK(verdict(timestamp(7, kNow.value - 99)) == "ok");
}

TEST_CASE("a timestamp cannot lead far ahead of what is adopted") {
  CHECK(verdict(timestamp(7 + kMaxSerialStep)) == "ok");
  CHECK(verdict(timestamp(8 + kMaxSerialStep)) == "snapshot.fast_forward");
  CHECK(verdict(timestamp((std::uint64_t{1} << 53) - 1)) == "snapshot.fast_forward");
}

TEST_CASE("a timestamp that vouches for another snapshot of a known serial is equivocation") {
  Timestamp other = timestamp(7);
  other.hash = Hash256{1};
  CHECK(verdict(other) == "snapshot.equivocation");
  other = timestamp(8);
  other.hash = Hash256{1};
  CHECK(verdict(other, timestamp(8)) == "snapshot.equivocation");
}

TEST_CASE("a feed is frozen when the last timestamp has expired, or is older than the config allows") {
  const auto at = [](const std::optional<Timestamp>& last, UtcSeconds freshest, std::int64_t max_age_s) {
    return freshness(adopted(), last, freshest, max_age_s, kNow);
  };
  const Timestamp fresh = timestamp(7);
  CHECK_FALSE(at(fresh, fresh.issued, 0).frozen);
  CHECK_FALSE(at(fresh, fresh.issued, 10).frozen);
  CHECK(at(fresh, fresh.issued, 9).frozen);
  const Timestamp stale = timestamp(7, kNow.value - 100);
  CHECK(at(stale, stale.issued, 0).frozen);
  CHECK_FALSE(at(std::nullopt, UtcSeconds(1), 0).frozen);
  CHECK(at(std::nullopt, UtcSeconds(1), 60).frozen);
  // A newer snapshot needs no vouching by an older timestamp.
  CHECK_FALSE(at(timestamp(6, kNow.value - 100), kNow, 0).frozen);
}

TEST_CASE("a timestamp that names a newer snapshot says that the gateway is behind") {
  CHECK(freshness(adopted(), timestamp(9), kNow, 0, kNow).behind == Serial(9));
  CHECK_FALSE(freshness(adopted(), timestamp(7), kNow, 0, kNow).behind);
  CHECK_FALSE(freshness(adopted(), std::nullopt, kNow, 0, kNow).behind);
}
