// SPDX-License-Identifier: Apache-2.0
#include "ledger/event_filter.h"

#include <doctest/doctest.h>

using namespace postern;
using namespace postern::ledger;

namespace {

Event note() {
  Event event;
  event.kind = "TimestampSeen";
  event.key.bytes.fill(3);
  event.stream.fill(7);
  event.lamport = Lamport(20);
  event.at_ms = 5'000;
  return event;
}

}  // namespace

TEST_CASE("a filter that asks for nothing lets every event through") {
  CHECK(matches({}, note()));
}

TEST_CASE("each part of a filter lets through what it names and nothing else") {
  EventFilter filter;
  SUBCASE("kind") {
    filter.kinds = {"StreamForked", "TimestampSeen"};
    CHECK(matches(filter, note()));
    filter.kinds = {"StreamForked"};
  }
  SUBCASE("author") {
    filter.authors = {wire::PublicKey{}, note().key};
    CHECK(matches(filter, note()));
    filter.authors = {wire::PublicKey{}};
  }
  SUBCASE("stream") {
    filter.stream = note().stream;
    CHECK(matches(filter, note()));
    filter.stream = Id128{};
  }
  SUBCASE("since a lamport") {
    filter.since = Lamport(20);
    CHECK(matches(filter, note()));
    filter.since = Lamport(21);
  }
  SUBCASE("until a lamport") {
    filter.until = Lamport(20);
    CHECK(matches(filter, note()));
    filter.until = Lamport(19);
  }
  SUBCASE("since an instant") {
    filter.since_ms = 5'000;
    CHECK(matches(filter, note()));
    filter.since_ms = 5'001;
  }
  SUBCASE("until an instant") {
    filter.until_ms = 5'000;
    CHECK(matches(filter, note()));
    filter.until_ms = 4'999;
  }
  CHECK(!matches(filter, note()));
}

TEST_CASE("all parts of a filter have to hold at once") {
  EventFilter filter;
  filter.kinds = {"TimestampSeen"};
  filter.until = Lamport(19);
  CHECK(!matches(filter, note()));
}
