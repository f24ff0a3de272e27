// SPDX-License-Identifier: Apache-2.0
#include "ledger/authority_events.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/ledger/authority_samples.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::ledger;
using namespace postern::testing;

namespace {

std::vector<AuthorityEvent> one_of_each() {
  AuthorityAdopted trial = adopted_event(2, 1);
  trial.unconfirmed_until = UtcSeconds(5000);
  trial.recovered = true;
  return {AuthorityFloors{{{"vip", Epoch(UINT64_MAX)}}, {{ResourceNumber(4095), Epoch(7)}}},
          adopted_event(1),
          trial,
          AuthorityActive{snapshot_id(1), Generation(UINT64_MAX)},
          AuthorityConfirmed{snapshot_id(1)},
          AuthorityReverted{snapshot_id(1), RevertCause::operator_order},
          AuthorityReverted{snapshot_id(1), RevertCause::timeout},
          AuthorityReverted{snapshot_id(1), RevertCause::restart},
          AuthorityEquivocated{snapshot_id(1), Hash256{9}, ""},
          AuthorityEquivocated{snapshot_id(1), Hash256{9}, "{\"signed\":1}"},
          TimestampSeen{snapshot_id(3), UtcSeconds(10), UtcSeconds(20), "{\"signed\":1}"}};
}

wire::Json body_again(const AuthorityEvent& event) {
  const Result<std::optional<AuthorityEvent>> read = read_authority_event(event_of(event));
  REQUIRE_MESSAGE(read, context(read));
  REQUIRE(*read);
  CHECK((*read)->index() == event.index());
  return draft_of(**read).body;
}

}  // namespace

TEST_CASE("every event of the authority is read back as it was written") {
  for (const AuthorityEvent& event : one_of_each()) {
    CAPTURE(draft_of(event).kind);
    CHECK(body_again(event) == draft_of(event).body);
  }
}

TEST_CASE("events of other kinds are none of the authority's") {
  Event other;
  other.kind = "StreamOpened";
  other.body = wire::Json::object();
  CHECK_FALSE(read_authority_event(other).value());
}

TEST_CASE("an event of the authority with a member missing, more, or of another form is refused") {
  for (const AuthorityEvent& sample : one_of_each()) {
    const Event good = event_of(sample);
    CAPTURE(good.kind);
    Event more = good;
    more.body.set("extra", 1);
    CHECK(outcome(read_authority_event(more)) == "event.invalid");
    for (const auto& [name, value] : *good.body.as_object()) {
      CAPTURE(name);
      Event less = good;
      auto& members = *less.body.as_object();
      members.erase(std::find_if(members.begin(), members.end(),
                                 [wanted = name](const auto& member) { return member.first == wanted; }));
      CHECK(outcome(read_authority_event(less)) == "event.invalid");
      Event wrong = good;
      wrong.body.set(name, 7);
      CHECK(outcome(read_authority_event(wrong)) == "event.invalid");
    }
  }
}

TEST_CASE("a journaled root whose threshold its keys cannot reach is refused") {
  Event event = event_of(adopted_event(1));
  wire::Json root = *event.body.find("root");
  for (const int threshold : {0, 2}) {
    root.set("threshold", threshold);
    event.body.set("root", root);
    CHECK(outcome(read_authority_event(event)) == "event.invalid");
  }
}
