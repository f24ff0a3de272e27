// SPDX-License-Identifier: Apache-2.0
#include "ledger/authority_retention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "unit/ledger/authority_samples.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::ledger;
using namespace postern::testing;

namespace {

// Histories that mix everything: small numbers, so that events meet and contradict each other often.
class RandomHistory {
 public:
  explicit RandomHistory(unsigned seed) : random_(seed) {}

  Event next() {
    const std::uint64_t serial = below(4) + 1;
    switch (below(9)) {
      case 0:
        return event_of(
            AuthorityFloors{{{std::string(1, static_cast<char>('a' + below(3))), Epoch(below(6))}},
                            {{ResourceNumber(static_cast<std::uint32_t>(below(3))), Epoch(below(6))}}});
      case 1:
      case 2:
        return event_of(adopted(serial));
      case 3:
      case 4:
        return event_of(AuthorityActive{snapshot_id(serial), Generation(below(20))});
      case 5:
        return event_of(AuthorityConfirmed{snapshot_id(serial)});
      case 6:
        return event_of(AuthorityReverted{snapshot_id(serial), RevertCause::timeout});
      case 7:
        return event_of(
            AuthorityEquivocated{snapshot_id(serial), Hash256{static_cast<std::uint8_t>(below(9))}, ""});
      default:
        return event_of(TimestampSeen{snapshot_id(serial), instant(), UtcSeconds(5000), "{}"});
    }
  }

 private:
  std::uint64_t below(std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_);
  }
  UtcSeconds instant() { return UtcSeconds(static_cast<std::int64_t>(below(1000))); }
  AuthorityAdopted adopted(std::uint64_t serial) {
    AuthorityAdopted out = adopted_event(serial);
    out.issued = instant();
    if (below(3) != 0) out.previous = Earlier{snapshot_id(below(4) + 1), sample_root()};
    if (below(2) == 0) out.unconfirmed_until = instant();
    out.recovered = below(6) == 0;
    return out;
  }

  std::mt19937 random_;
};

AuthorityState fold(const std::vector<Event>& events, const std::vector<bool>* only = nullptr) {
  AuthorityState state;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (only == nullptr || (*only)[i]) REQUIRE(apply_event(state, events[i]));
  return state;
}

// All parts of a state in one comparable text.
std::string text_of(const AuthorityState& state) {
  wire::Json json = wire::Json::object();
  if (state.adopted) {
    AuthorityAdopted adopted;
    adopted.id = {state.adopted->serial, state.adopted->hash};
    adopted.root = state.adopted->root;
    adopted.previous = state.previous;
    adopted.unconfirmed_until = state.unconfirmed_until;
    json.set("adopted", draft_of(adopted).body);
    json.set("adopted_floors", draft_of(AuthorityFloors{state.adopted->floors, {}}).body);
  }
  json.set("reverted", state.reverted);
  json.set("active", state.active);
  json.set("generation", wire::Json::decimal(state.generation.value));
  json.set("floors", draft_of(AuthorityFloors{state.floors, state.fences}).body);
  if (state.timestamp) json.set("timestamp", draft_of(*state.timestamp).body);
  if (state.conflict) json.set("conflict", draft_of(*state.conflict).body);
  json.set("clock_floor", state.clock_floor.value);
  return wire::encode_canonical(json);
}

}  // namespace

TEST_CASE("folding the events that are needed comes to the same as folding all, now and with more to come") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomHistory history(seed);
    std::vector<Event> events;
    for (unsigned i = 0; i < 5 + seed % 60; ++i)
      events.push_back(history.next());
    const std::vector<bool> needed = authority_events_needed(events).value();
    REQUIRE(needed.size() == events.size());
    REQUIRE(text_of(fold(events, &needed)) == text_of(fold(events)));

    std::vector<Event> kept;
    for (std::size_t i = 0; i < events.size(); ++i)
      if (needed[i]) kept.push_back(events[i]);
    AuthorityState from_kept = fold(kept);
    AuthorityState from_all = fold(events);
    for (int i = 0; i < 12; ++i) {
      kept.push_back(history.next());
      REQUIRE(apply_event(from_kept, kept.back()));
      REQUIRE(apply_event(from_all, kept.back()));
      REQUIRE(text_of(from_kept) == text_of(from_all));
    }
    // What was kept once may be compacted again.
    const std::vector<bool> again = authority_events_needed(kept).value();
    REQUIRE(text_of(fold(kept, &again)) == text_of(from_all));
  }
}

TEST_CASE("a long history is kept as a handful of events") {
  std::vector<Event> events;
  for (std::uint64_t serial = 1; serial <= 200; ++serial) {
    events.push_back(
        event_of(AuthorityFloors{{{"vip", Epoch(serial)}}, {{ResourceNumber(1), Epoch(serial)}}}));
    events.push_back(event_of(adopted_event(serial)));
    events.push_back(event_of(AuthorityActive{snapshot_id(serial), Generation(serial)}));
    for (int i = 0; i < 10; ++i)
      events.push_back(
          event_of(TimestampSeen{snapshot_id(serial), UtcSeconds(static_cast<std::int64_t>(serial * 100)),
                                 UtcSeconds(900'000), "{}"}));
  }
  const std::vector<bool> needed = authority_events_needed(events).value();
  CHECK(std::count(needed.begin(), needed.end(), true) <= 5);
}

TEST_CASE("events of other kinds are not needed, and a malformed one fails") {
  Event other;
  other.kind = "ClaimAcquired";
  other.body = wire::Json::object();
  std::vector<Event> events = {other, event_of(adopted_event(1))};
  CHECK(authority_events_needed(events).value() == std::vector<bool>{false, true});
  events[1].body.set("serial", 1);
  CHECK(outcome(authority_events_needed(events)) == "event.invalid");
}
