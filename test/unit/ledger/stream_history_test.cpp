// SPDX-License-Identifier: Apache-2.0
#include "ledger/stream_history.h"

#include <doctest/doctest.h>

#include "ledger/continuity.h"

namespace postern::ledger {
namespace {

const wire::PublicKey kOwn{{1}};
constexpr Id128 kStream{7};
constexpr Hash256 kPrev{9};

Event own_event(std::uint64_t seq, const Hash256& prev = kPrev) {
  Event event;
  event.key = kOwn;
  event.stream = kStream;
  event.seq = Seq(seq);
  event.lamport = Lamport(10 + seq);
  event.prev = prev;
  event.body = wire::Json::object();
  return event;
}

Record record(std::uint64_t lseq, bool from_base = false) {
  return {Lseq(lseq), RecordType::event, {}, "payload " + std::to_string(lseq), from_base};
}

// A base that compacted the own stream's events up to seq 5 away.
Base base() {
  Base base;
  base.state.streams[kStream] = {kOwn, Seq(5), kPrev, Lamport(40)};
  return base;
}

}  // namespace

TEST_CASE("a stream with a gap is not continued") {
  StreamHistory history(kOwn);
  REQUIRE(history.add(own_event(1), record(1)));
  CHECK(history.add(own_event(3), record(2)).error().code == errc::event_invalid);
  Event other = own_event(2);
  other.stream = Id128{8};
  CHECK(history.add(other, record(2)).error().code == errc::event_invalid);
  REQUIRE(history.add(own_event(2), record(2)));
  REQUIRE(history.finish(nullptr));
  CHECK(history.own() == StreamEnd{kStream, Seq(2), event_hash("payload 2"), Lseq(1), false});
}

TEST_CASE("events of other nodes count for the lamport clock alone") {
  StreamHistory history(kOwn);
  Event other = own_event(70);
  other.key = wire::PublicKey{{2}};
  REQUIRE(history.add(other, record(1)));
  CHECK_FALSE(history.own());
  CHECK(history.lamport() == Lamport(80));
}

TEST_CASE("after a compaction the stream goes on where the base's head says") {
  StreamHistory history(kOwn);
  REQUIRE(history.add(own_event(1), record(1, true)));
  REQUIRE(history.add(own_event(3), record(3, true)));
  SUBCASE("with nothing behind it") {
    REQUIRE(history.finish(&*std::make_unique<Base>(base())));
    CHECK(history.own() == StreamEnd{kStream, Seq(5), kPrev, Lseq(1), false});
  }
  SUBCASE("with events that follow on") {
    REQUIRE(history.add(own_event(6), record(8)));
    REQUIRE(history.add(own_event(7), record(9)));
    REQUIRE(history.finish(&*std::make_unique<Base>(base())));
    CHECK(history.own()->seq == Seq(7));
  }
  SUBCASE("not with events that leave one out") {
    REQUIRE(history.add(own_event(7), record(8)));
    CHECK(history.finish(&*std::make_unique<Base>(base())).error().code == errc::event_invalid);
  }
  SUBCASE("not with an event that follows on the last kept one alone") {
    REQUIRE(history.add(own_event(4), record(8)));
    CHECK(history.finish(&*std::make_unique<Base>(base())).error().code == errc::event_invalid);
  }
  SUBCASE("not with events that follow on another one") {
    REQUIRE(history.add(own_event(6, Hash256{1}), record(8)));
    CHECK(history.finish(&*std::make_unique<Base>(base())).error().code == errc::event_invalid);
  }
  SUBCASE("not without that base") {
    REQUIRE(history.add(own_event(6), record(8)));
    CHECK(history.finish(nullptr).error().code == errc::event_invalid);
  }
  CHECK(history.lamport() >= Lamport(13));
}

TEST_CASE("own events that the peers gave back change nothing about which stream is the own one") {
  constexpr Id128 kNew{17};
  constexpr Id128 kLost{27};
  const auto opening = [](const Id128& stream, const Id128& predecessor) {
    Event event = own_event(1, Hash256{});
    event.stream = stream;
    event.body = wire::Json::object({{"predecessor", to_hex(predecessor)}});
    return event;
  };
  const auto of = [](Event event, const Id128& stream) {
    event.stream = stream;
    return event;
  };
  for (const bool from_base : {false, true}) {
    StreamHistory history(kOwn);
    REQUIRE(history.add(own_event(1), record(1, from_base)));
    REQUIRE(history.add(own_event(2), record(2, from_base)));
    REQUIRE(history.add(opening(kNew, kStream), record(3, from_base)));
    // What the old stream had lost, and a whole stream that this journal never knew of.
    REQUIRE(history.add(own_event(3), record(4, from_base)));
    REQUIRE(history.add(opening(kLost, kStream), record(5, from_base)));
    REQUIRE(history.add(of(own_event(2), kLost), record(6, from_base)));
    CHECK(history.own()->stream == kNew);
    CHECK(history.own()->seq == Seq(1));
  }
}

TEST_CASE("a repair that lost the beginning of the own stream leaves it to be succeeded, not refused") {
  StreamHistory history(kOwn);
  REQUIRE(history.add(own_event(2), record(4, true)));
  REQUIRE(history.add(own_event(3), record(5, true)));
  Base repaired;
  repaired.state.gaps = {{Lseq(1), Lseq(3), true}};
  REQUIRE(history.finish(&repaired));
  CHECK(history.own() == StreamEnd{kStream, Seq(3), event_hash("payload 5"), Lseq(), false});
  CHECK(!why_broken({}, repaired.state.gaps, history.own()->opened_at).empty());
  CHECK(history.add(own_event(4), record(9)));
  CHECK(history.finish(&repaired).error().code == errc::event_invalid);
}

}  // namespace postern::ledger
