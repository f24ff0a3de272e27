// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "ledger/stream.h"
#include "unit/ledger/scratch_journal.h"

namespace postern::ledger {
namespace {

std::vector<Event> events_of(const ScratchJournal& scratch) {
  std::vector<Event> events;
  for (const std::string& payload : scratch.replayed) {
    Result<Event> event = open_event(payload);
    REQUIRE_MESSAGE(event, (event ? "" : event.error().message()));
    events.push_back(*event);
  }
  return events;
}

std::vector<Draft> drafts(int count) {
  return std::vector<Draft>(static_cast<std::size_t>(count),
                            Draft{"FenceRaised", wire::Json::object({{"n", count}})});
}

}  // namespace

TEST_CASE("a new stream opens with StreamOpened and goes on densely linked over restarts") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const SystemClock clock;
  ScratchJournal scratch;
  for (int start = 0; start < 3; ++start) {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    Result<Stream> stream = Stream::open(**journal, key, clock, "blue", events_of(scratch));
    REQUIRE_MESSAGE(stream, (stream ? "" : stream.error().message()));
    REQUIRE(stream->write(drafts(2)));
    CHECK(stream->head() == Seq(static_cast<std::uint64_t>(1 + 2 * (start + 1))));
  }
  REQUIRE(scratch.open());
  const std::vector<Event> events = events_of(scratch);
  REQUIRE(events.size() == 7);
  CHECK(events[0].kind == "StreamOpened");
  REQUIRE(events[0].body.find("predecessor") != nullptr);
  CHECK(events[0].body.find("predecessor")->is_null());
  Hash256 prev{};
  for (std::size_t i = 0; i < events.size(); ++i) {
    CHECK(events[i].stream == events[0].stream);
    CHECK(events[i].seq == Seq(i + 1));
    CHECK(events[i].lamport == Lamport(i + 1));
    CHECK(events[i].prev == prev);
    prev = event_hash(scratch.replayed[i]);
  }
}

TEST_CASE("what a stream writes is later than every event that its journal holds") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const wire::SecretKey other = wire::SecretKey::generate();
  const SystemClock clock;
  ScratchJournal scratch;
  Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  Event foreign;
  foreign.mesh = "blue";
  foreign.seq = Seq(1);
  foreign.lamport = Lamport(1000);
  foreign.key = other.public_key();
  const Result<Stream> stream = Stream::open(**journal, key, clock, "blue", {foreign});
  REQUIRE(stream);
  CHECK(stream->head() == Seq(1));
  journal->reset();
  REQUIRE(scratch.open());
  CHECK(events_of(scratch).at(0).lamport == Lamport(1001));
}

TEST_CASE("a journal of another mesh, or a stream with a gap, is not continued") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const SystemClock clock;
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  Event event;
  event.mesh = "green";
  event.seq = Seq(1);
  event.lamport = Lamport(1);
  event.key = key.public_key();
  CHECK(Stream::open(**journal, key, clock, "blue", {event}).error().code == errc::event_invalid);
  Event later = event;
  later.seq = Seq(3);
  CHECK(Stream::open(**journal, key, clock, "green", {event, later}).error().code == errc::event_invalid);
  CHECK((*journal)->status().head == Lseq(0));
}

TEST_CASE("a stream whose journal refuses stays where it was") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const SystemClock clock;
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  Result<Stream> stream = Stream::open(**journal, key, clock, "blue", {});
  REQUIRE(stream);
  const std::vector<Draft> large = {{"Large", wire::Json::object({{"x", std::string(kMaxEventBytes, 'x')}})}};
  CHECK(stream->write(large).error().code == errc::record_too_large);
  CHECK(stream->head() == Seq(1));
  REQUIRE(stream->write(drafts(1)));
  CHECK(stream->head() == Seq(2));
}

}  // namespace postern::ledger
