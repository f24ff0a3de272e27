// SPDX-License-Identifier: Apache-2.0
#include "ledger/authority_retention.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/authority_history.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::ledger;
using namespace postern::testing;

namespace {

// One flag for each of `events`.
std::vector<bool> needed_of(const std::vector<Event>& events) {
  AuthorityRetention retention;
  for (std::size_t i = 0; i < events.size(); ++i)
    REQUIRE(retention.see(Lseq(i + 1), events[i]));
  std::vector<bool> needed(events.size(), false);
  for (const Lseq at : retention.needed())
    needed[at.value - 1] = true;
  return needed;
}

AuthorityState fold(const std::vector<Event>& events, const std::vector<bool>* only = nullptr) {
  AuthorityState state;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (only == nullptr || (*only)[i]) REQUIRE(apply_event(state, events[i]));
  return state;
}

}  // namespace

TEST_CASE("folding the events that are needed comes to the same as folding all, now and with more to come") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    RandomHistory history(seed);
    std::vector<Event> events;
    for (unsigned i = 0; i < 5 + seed % 60; ++i)
      events.push_back(event_of(history.next()));
    const std::vector<bool> needed = needed_of(events);
    REQUIRE(needed.size() == events.size());
    REQUIRE(text_of(fold(events, &needed)) == text_of(fold(events)));

    std::vector<Event> kept;
    for (std::size_t i = 0; i < events.size(); ++i)
      if (needed[i]) kept.push_back(events[i]);
    AuthorityState from_kept = fold(kept);
    AuthorityState from_all = fold(events);
    for (int i = 0; i < 12; ++i) {
      kept.push_back(event_of(history.next()));
      REQUIRE(apply_event(from_kept, kept.back()));
      REQUIRE(apply_event(from_all, kept.back()));
      REQUIRE(text_of(from_kept) == text_of(from_all));
    }
    // What was kept once may be compacted again.
    const std::vector<bool> again = needed_of(kept);
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
  const std::vector<bool> needed = needed_of(events);
  CHECK(std::count(needed.begin(), needed.end(), true) <= 5);
}

TEST_CASE("events of other kinds are not needed, and a malformed one fails") {
  Event other;
  other.kind = "ClaimAcquired";
  other.body = wire::Json::object();
  std::vector<Event> events = {other, event_of(adopted_event(1))};
  CHECK(needed_of(events) == std::vector<bool>{false, true});
  events[1].body.set("serial", 1);
  AuthorityRetention retention;
  CHECK(outcome(retention.see(Lseq(1), events[1])) == "event.invalid");
}

TEST_CASE("what is not needed once is never needed again, so it can be dropped on the way") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    RandomHistory history(seed);
    AuthorityRetention retention;
    std::set<Lseq> before;
    for (std::uint64_t at = 1; at < 80; ++at) {
      REQUIRE(retention.see(Lseq(at), event_of(history.next())));
      before.insert(Lseq(at));
      const std::set<Lseq> now = retention.needed();
      REQUIRE(std::includes(before.begin(), before.end(), now.begin(), now.end()));
      before = now;
    }
  }
}
