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

constexpr Continuation kGoOn{true, false, false};

StreamHistory history_of(const ScratchJournal& scratch, const wire::SecretKey& key) {
  StreamHistory history(key.public_key());
  Lseq lseq(0);
  for (const std::string& payload : scratch.replayed) {
    const Result<Event> event = open_event(payload);
    REQUIRE_MESSAGE(event, (event ? "" : event.error().message()));
    lseq = lseq.next();
    REQUIRE(history.add(*event, {lseq, RecordType::event, {}, payload}));
  }
  return history;
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
    Result<Stream> stream = Stream::open(**journal, key, clock, "blue", history_of(scratch, key), kGoOn);
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
  StreamHistory history(key.public_key());
  REQUIRE(history.add(foreign, {Lseq(1), RecordType::event, {}, "{}"}));
  const Result<Stream> stream = Stream::open(**journal, key, clock, "blue", history, kGoOn);
  REQUIRE(stream);
  CHECK(stream->head() == Seq(1));
  journal->reset();
  REQUIRE(scratch.open());
  CHECK(events_of(scratch).at(0).lamport == Lamport(1001));
}

TEST_CASE("without continuity a new random stream names the one before it, which is never written again") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const SystemClock clock;
  ScratchJournal scratch;
  StreamEnd given_up;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    Result<Stream> stream = Stream::open(**journal, key, clock, "blue", history_of(scratch, key), kGoOn);
    REQUIRE(stream);
    REQUIRE(stream->write(drafts(3)));
  }
  for (int start = 0; start < 2; ++start) {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    const StreamHistory history = history_of(scratch, key);
    given_up = *history.own();
    CHECK(given_up.has_predecessor == (start > 0));
    const Result<Stream> stream = Stream::open(**journal, key, clock, "blue", history, Continuation{});
    REQUIRE(stream);
    CHECK(stream->id() != given_up.stream);
    CHECK(stream->head() == Seq(1));
  }
  REQUIRE(scratch.open());
  const Event opened = events_of(scratch).back();
  CHECK(opened.kind == "StreamOpened");
  CHECK(opened.lamport == Lamport(6));
  CHECK(*opened.body.find("predecessor")->as_string() == to_hex(given_up.stream));
  CHECK(*opened.body.find("last_seq")->as_integer() == 1);
  CHECK(*opened.body.find("head")->as_string() == to_hex(given_up.hash));
  CHECK(history_of(scratch, key).own()->opened_at == Lseq(6));
}

TEST_CASE("a stream whose journal refuses stays where it was") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const SystemClock clock;
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  Result<Stream> stream = Stream::open(**journal, key, clock, "blue", StreamHistory(key.public_key()), kGoOn);
  REQUIRE(stream);
  const std::vector<Draft> large = {{"Large", wire::Json::object({{"x", std::string(kMaxEventBytes, 'x')}})}};
  CHECK(stream->write(large).error().code == errc::record_too_large);
  CHECK(stream->head() == Seq(1));
  REQUIRE(stream->write(drafts(1)));
  CHECK(stream->head() == Seq(2));
}

}  // namespace postern::ledger
