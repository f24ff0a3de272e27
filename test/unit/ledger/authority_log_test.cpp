// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "ledger/authority_log.h"

namespace postern::ledger {
namespace {

authority::Adopted adopted(std::uint64_t serial) {
  authority::Adopted out;
  out.serial = Serial(serial);
  out.hash.fill(static_cast<std::uint8_t>(serial));
  out.root.threshold = 1;
  out.root.keys = {wire::SecretKey::generate().public_key()};
  out.floors = {{"vip", Epoch(serial * 10)}};
  return out;
}

Event event_of(const Draft& draft) {
  Event event;
  event.kind = draft.kind;
  event.body = draft.body;
  return event;
}

void apply(AuthorityState& state, const Draft& draft) {
  const Result<> applied = apply_event(state, event_of(draft));
  REQUIRE_MESSAGE(applied, (applied ? "" : applied.error().message()));
}

bool same(const std::optional<authority::Adopted>& a, const authority::Adopted& b) {
  return a && a->serial == b.serial && a->hash == b.hash && a->root == b.root && a->floors == b.floors;
}

}  // namespace

TEST_CASE(
    "what was adopted last is known after a replay, with the one before it and whether it went active") {
  const authority::Adopted one = adopted(1);
  const authority::Adopted two = adopted(2);
  AuthorityState state;
  apply(state, authority_adopted(one));
  CHECK(same(state.adopted, one));
  CHECK(!state.previous);
  CHECK(!state.active);
  apply(state, authority_active(one.serial, one.hash, Generation(4)));
  CHECK(state.active);
  CHECK(state.generation == Generation(4));
  apply(state, authority_adopted(two));
  CHECK(same(state.adopted, two));
  CHECK(same(state.previous, one));
  CHECK(!state.active);
}

TEST_CASE("adopting the same snapshot again keeps the one before it") {
  const authority::Adopted one = adopted(1);
  const authority::Adopted two = adopted(2);
  AuthorityState state;
  for (const authority::Adopted& next : {one, two, two})
    apply(state, authority_adopted(next));
  CHECK(same(state.adopted, two));
  CHECK(same(state.previous, one));
}

TEST_CASE("an activation of another snapshot does not make the adopted one active") {
  const authority::Adopted one = adopted(1);
  const authority::Adopted two = adopted(2);
  AuthorityState state;
  apply(state, authority_adopted(two));
  apply(state, authority_active(one.serial, one.hash, Generation(9)));
  CHECK(!state.active);
  CHECK(state.generation == Generation(9));
  apply(state, authority_active(two.serial, two.hash, Generation(3)));
  CHECK(state.active);
  CHECK(state.generation == Generation(9));
}

TEST_CASE("events of other kinds change nothing, malformed ones are refused") {
  AuthorityState state;
  Event other;
  other.kind = "StreamOpened";
  other.body = wire::Json::object();
  CHECK(apply_event(state, other));
  CHECK(!state.adopted);
  const std::vector<std::pair<std::string, wire::Json>> wrong = {
      {"hash", "00"}, {"serial", 1}, {"floors", "none"}, {"root", wire::Json::object()}, {"extra", 1}};
  for (const auto& [name, value] : wrong) {
    CAPTURE(name);
    Event event = event_of(authority_adopted(adopted(1)));
    event.body.set(name, value);
    CHECK(apply_event(state, event).error().code == errc::event_invalid);
    CHECK(!state.adopted);
  }
  Event threshold = event_of(authority_adopted(adopted(1)));
  wire::Json root = *threshold.body.find("root");
  root.set("threshold", 2);
  threshold.body.set("root", root);
  CHECK(apply_event(state, threshold).error().code == errc::event_invalid);
  Event active = event_of(authority_active(Serial(1), {}, Generation(1)));
  active.body.set("generation", 1);
  CHECK(apply_event(state, active).error().code == errc::event_invalid);
}

TEST_CASE("a snapshot's file is named by serial and hash") {
  CHECK(snapshot_file_name(Serial(12), Hash256{0xab}) == "auth-12-ab" + std::string(62, '0'));
}

}  // namespace postern::ledger
