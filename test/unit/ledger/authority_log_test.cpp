// SPDX-License-Identifier: Apache-2.0
#include "ledger/authority_log.h"

#include <doctest/doctest.h>

#include "unit/ledger/authority_samples.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::ledger;
using namespace postern::testing;

TEST_CASE(
    "what was adopted last is known after a replay, with the one before it and whether it went active") {
  AuthorityState state;
  fold(state, adopted_event(1));
  CHECK(to_serve(state) == snapshot_id(1));
  CHECK(!state.previous);
  CHECK(!state.active);
  fold(state, AuthorityActive{snapshot_id(1), Generation(4)});
  CHECK(state.active);
  CHECK(state.generation == Generation(4));
  fold(state, adopted_event(2, 1));
  CHECK(to_serve(state) == snapshot_id(2));
  REQUIRE(state.previous);
  CHECK(state.previous->id == snapshot_id(1));
  CHECK(!state.active);
}

TEST_CASE("an activation of another snapshot does not make the adopted one active") {
  AuthorityState state;
  fold(state, adopted_event(2));
  fold(state, AuthorityActive{snapshot_id(1), Generation(9)});
  CHECK(!state.active);
  CHECK(state.generation == Generation(9));
  fold(state, AuthorityActive{snapshot_id(2), Generation(3)});
  CHECK(state.active);
  CHECK(state.generation == Generation(9));
}

TEST_CASE("floors and fences only rise, and count even when no adoption followed") {
  AuthorityState state;
  fold(state, AuthorityFloors{{{"vip", Epoch(5)}}, {{ResourceNumber(3), Epoch(5)}}});
  fold(state, adopted_event(1));
  fold(state, AuthorityFloors{{{"vip", Epoch(4)}, {"db", Epoch(1)}}, {{ResourceNumber(3), Epoch(9)}}});
  CHECK(state.floors == std::map<std::string, Epoch>{{"db", Epoch(1)}, {"vip", Epoch(5)}});
  CHECK(state.adopted->floors == state.floors);
  CHECK(state.fences == std::map<ResourceNumber, Epoch>{{ResourceNumber(3), Epoch(9)}});
}

TEST_CASE("only what rises is written, in events that each fit a record") {
  AuthorityState state;
  fold(state, AuthorityFloors{{{"vip", Epoch(5)}}, {{ResourceNumber(3), Epoch(5)}}});
  CHECK(rises(state, {{{"vip", Epoch(5)}}, {{ResourceNumber(3), Epoch(4)}}}).empty());
  const std::vector<AuthorityFloors> one =
      rises(state, {{{"vip", Epoch(6)}}, {{ResourceNumber(3), Epoch(5)}}});
  REQUIRE(one.size() == 1);
  CHECK(one[0].floors == std::map<std::string, Epoch>{{"vip", Epoch(6)}});
  CHECK(one[0].fences.empty());

  AuthorityFloors all;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    all.floors[std::string(59, 'r') + std::to_string(1000 + i)] = Epoch(UINT64_MAX);
    all.fences[ResourceNumber(i)] = Epoch(UINT64_MAX);
  }
  AuthorityState after;
  for (const AuthorityFloors& part : rises(after, all)) {
    CHECK(wire::encode_canonical(draft_of(part).body).size() < kMaxEventBytes - 1024);
    fold(after, part);
  }
  CHECK(after.floors == all.floors);
  CHECK(after.fences == all.fences);
}

TEST_CASE("a snapshot on trial stays when confirmed, and gives way to the one before when reverted") {
  AuthorityState state;
  fold(state, adopted_event(1));
  AuthorityAdopted trial = adopted_event(2, 1);
  trial.unconfirmed_until = UtcSeconds(1000);
  fold(state, trial);
  AuthorityState confirmed = state;
  fold(confirmed, AuthorityConfirmed{snapshot_id(1)});
  CHECK(confirmed.unconfirmed_until);
  fold(confirmed, AuthorityConfirmed{snapshot_id(2)});
  CHECK_FALSE(confirmed.unconfirmed_until);
  CHECK(to_serve(confirmed) == snapshot_id(2));

  fold(state, AuthorityActive{snapshot_id(2), Generation(2)});
  fold(state, AuthorityReverted{snapshot_id(2), RevertCause::timeout});
  CHECK_FALSE(state.unconfirmed_until);
  CHECK(state.reverted);
  CHECK_FALSE(state.active);
  CHECK(state.adopted->serial == Serial(2));
  CHECK(to_serve(state) == snapshot_id(1));
  fold(state, AuthorityActive{snapshot_id(1), Generation(3)});
  CHECK(state.active);
  fold(state, adopted_event(3, 1));
  CHECK_FALSE(state.reverted);
  CHECK(to_serve(state) == snapshot_id(3));
}

TEST_CASE("there is no reverting to nothing") {
  AuthorityState state;
  fold(state, adopted_event(1));
  fold(state, AuthorityReverted{snapshot_id(1), RevertCause::operator_order});
  CHECK(to_serve(state) == snapshot_id(1));
}

TEST_CASE(
    "the first proof of a conflict stands until a recovery, which also forgets the timestamp and its time") {
  AuthorityState state;
  fold(state, adopted_event(1));
  fold(state, TimestampSeen{snapshot_id(9), UtcSeconds(90'000), UtcSeconds(90'100), "{}"});
  CHECK(state.clock_floor == UtcSeconds(90'000));
  fold(state, AuthorityEquivocated{snapshot_id(1), Hash256{7}, ""});
  fold(state, AuthorityEquivocated{snapshot_id(1), Hash256{8}, ""});
  REQUIRE(state.conflict);
  CHECK(state.conflict->other == Hash256{7});
  fold(state, adopted_event(2, 1));
  CHECK(state.conflict);
  AuthorityAdopted recovery = adopted_event(3);
  recovery.recovered = true;
  fold(state, recovery);
  CHECK_FALSE(state.conflict);
  CHECK_FALSE(state.timestamp);
  CHECK(state.clock_floor == recovery.issued);
}

TEST_CASE("a snapshot's file is named by serial and hash") {
  CHECK(snapshot_file_name({Serial(12), Hash256{0xab}}) == "auth-12-ab" + std::string(62, '0'));
}
