// SPDX-License-Identifier: Apache-2.0
#include "agent/standing.h"

#include <doctest/doctest.h>

#include "unit/ledger/authority_samples.h"

using namespace postern;
using namespace postern::agent;
using namespace postern::testing;
using authority::ClockVerdict;

namespace {

constexpr UtcSeconds kIssued(1'800'000'000);

UtcSeconds after(std::int64_t seconds) {
  return UtcSeconds(kIssued.value + seconds);
}

ledger::AuthorityState adopted(std::uint64_t serial = 2,
                               std::optional<std::uint64_t> previous = std::nullopt) {
  ledger::AuthorityAdopted event = adopted_event(serial, previous);
  event.issued = kIssued;
  event.expires = after(1'000'000);
  ledger::AuthorityState state;
  ledger::fold(state, event);
  return state;
}

ledger::TimestampSeen timestamp(std::uint64_t serial, std::int64_t issued, std::int64_t valid) {
  return {snapshot_id(serial), after(issued), after(issued + valid), "{}"};
}

std::size_t problems(const ledger::AuthorityState& state, UtcSeconds wall, std::string_view word) {
  std::size_t found = 0;
  for (const std::string& problem : problems_of(standing_of(state, 0, wall), state, wall))
    found += problem.find(word) != std::string::npos ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("a gateway that adopted a snapshot and keeps time has nothing to say of its authority") {
  const ledger::AuthorityState state = adopted();
  CHECK(problems_of(standing_of(state, 0, after(10)), state, after(10)).empty());
  const ledger::AuthorityState none;
  CHECK(problems_of(standing_of(none, 60, UtcSeconds(0)), none, UtcSeconds(0)).empty());
}

TEST_CASE("a clock without battery is suspect until it is set, and nothing is called frozen by it") {
  ledger::AuthorityState state = adopted();
  ledger::fold(state, timestamp(2, 0, 10));
  for (const UtcSeconds wall : {UtcSeconds(0), after(authority::kClockHorizon_s + 1)}) {
    const Standing standing = standing_of(state, 5, wall);
    CHECK(standing.clock != ClockVerdict::plausible);
    CHECK_FALSE(standing.frozen);
    CHECK(problems(state, wall, "clock_suspect") == 1);
  }
  CHECK(standing_of(state, 5, after(11)).frozen);
  CHECK(problems(state, after(11), "frozen") == 1);
}

TEST_CASE("a signed time that lies ahead makes the clock suspect; the latest one counts") {
  ledger::AuthorityState state = adopted();
  ledger::fold(state, timestamp(2, 500, 1000));
  CHECK(standing_of(state, 0, after(400)).clock == ClockVerdict::behind);
  CHECK(standing_of(state, 0, after(500 - authority::kClockTolerance_s)).clock == ClockVerdict::plausible);
}

TEST_CASE("each state with the authority is a problem of its own, with its remedy") {
  ledger::AuthorityState state = adopted(2, 1);
  state.unconfirmed_until = after(60);
  CHECK(problems(state, after(1), "postern confirm") == 1);
  ledger::fold(state, ledger::AuthorityReverted{snapshot_id(2), ledger::RevertCause::timeout});
  CHECK(problems(state, after(1), "on trial") == 0);
  CHECK(problems(state, after(1), "serial 2 is rolled back: serial 1 is served") == 1);
  CHECK(standing_of(state, 0, after(1)).refused == Serial(2));
  ledger::fold(state, timestamp(7, 1, 100));
  CHECK(standing_of(state, 0, after(2)).behind == Serial(7));
  CHECK(problems(state, after(2), "behind: the authority vouches for serial 7") == 1);
  ledger::fold(state, ledger::AuthorityEquivocated{snapshot_id(2), Hash256{9}, ""});
  CHECK(standing_of(state, 0, after(2)).in_conflict);
  CHECK(problems(state, after(2), "postern authority recover --bundle FILE") == 1);
}
