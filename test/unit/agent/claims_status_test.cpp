// SPDX-License-Identifier: Apache-2.0
#include "agent/claims_status.h"

#include <doctest/doctest.h>

#include "agent/claims_report.h"
#include "agent/errors.h"
#include "claims/timing.h"

using namespace postern;
using namespace postern::agent;

namespace {

constexpr ResourceNumber kVip{3};
constexpr std::uint32_t kTtl_ms = 10'000;
constexpr std::uint64_t kNow_ns = 1'000 * claims::kSecond_ns;

wire::PublicKey key(std::uint8_t number) {
  wire::PublicKey out;
  out.bytes[0] = number;
  return out;
}

ledger::Claim claim(std::uint8_t author, std::uint64_t epoch) {
  ledger::Claim out;
  out.resource = kVip;
  out.author = key(author);
  out.token.epoch = Epoch(epoch);
  out.ttl_ms = kTtl_ms;
  return out;
}

ClaimsStatus status() {
  ClaimsStatus out;
  out.on = true;
  out.made_boot_ns = kNow_ns;
  out.names = {{key(1), "gw1"}, {key(2), "gw2"}};
  claims::ResourceView view;
  view.resource = kVip;
  view.id = "vip";
  view.standing = claims::Standing::held;
  view.top = claim(2, 5);
  out.resources = {view};
  return out;
}

bool says(const std::vector<std::string>& problems, std::string_view text) {
  return problems.size() == 1 && problems[0].find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a clock that runs too fast or slow for leases is a problem that names whose and by how much") {
  ClaimsStatus seen = status();
  seen.nodes = {{key(2), 1, 9, 0, 1200, false, true}};
  CHECK(problems_of(seen).empty());
  seen.nodes[0].clock_permille = 1500;
  seen.nodes[0].clock_beyond_rho = true;
  CHECK(says(problems_of(seen), "gateway gw2 run apart: a minute here is 90 s there"));
  CHECK(wire::encode_canonical(claims_report(seen, std::nullopt)).find("\"clock_permille\":1500") !=
        std::string::npos);
}

TEST_CASE("a conflict stands from its announcement until the resource is claimed anew") {
  ClaimsStatus seen = status();
  seen.conflicts = {{ledger::ConflictKind::collision, claim(1, 4), claim(2, 5)}};
  CHECK(problems_of(seen).empty());
  seen.announced = {{kVip, claim(1, 4).token}};
  CHECK(says(problems_of(seen), "gw1 under epoch 4, and gw2 under epoch 5"));
  CHECK(says(problems_of(seen), "resource vip"));
  seen.resources[0].top = claim(1, 6);
  CHECK(problems_of(seen).empty());
}

TEST_CASE("an own claim that waits for longer than any silence takes is a problem that names for whom") {
  ClaimsStatus seen = status();
  seen.resources[0].waits_for = {{key(1), "has not agreed yet"}, {key(9), ""}};
  seen.waiting_since_boot_ns = {{kVip, kNow_ns - claims::silence_ns(kTtl_ms) + 1}};
  CHECK(problems_of(seen).empty());
  seen.made_boot_ns += 1;
  CHECK(says(problems_of(seen), "waiting for 13 s, for gw1: has not agreed yet; key " + key(9).id()));
}

TEST_CASE("a resource that there is not is refused with those that there are") {
  const ClaimsStatus seen = status();
  CHECK(resource_named("vip", seen) == kVip);
  const Result<ResourceNumber> refused = resource_named("vap", seen);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::control_bad_argument);
  CHECK(refused.error().context.find("there are vip") != std::string::npos);
}

TEST_CASE("a report of claims says what is left of a lease, and nothing once it is over") {
  ClaimsStatus seen = status();
  seen.resources[0].deadline_boot_ns = kNow_ns + 1'234 * claims::kMillisecond_ns;
  const auto left_ms = [&] {
    const wire::Json report = claims_report(seen, std::nullopt);
    return *report.find("resources")->as_array()->at(0).find("lease_left_ms")->as_integer();
  };
  CHECK(left_ms() == 1'234);
  seen.made_boot_ns = seen.resources[0].deadline_boot_ns + 1;
  CHECK(left_ms() == 0);
  CHECK(claims_report(seen, ResourceNumber(4)).find("resources")->as_array()->empty());
}
