// SPDX-License-Identifier: Apache-2.0
#include "ledger/event_replay.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "ledger/errors.h"

namespace postern::ledger {
namespace {

constexpr std::size_t kEvents = 300;  // more than one thread takes at once

std::vector<Record> records(const wire::SecretKey& key) {
  std::vector<Record> out;
  Event event;
  event.mesh = "m";
  event.key = key.public_key();
  event.kind = "Other";
  event.body = wire::Json::object();
  for (std::size_t i = 1; i <= kEvents; ++i) {
    event.seq = Seq(i);
    event.lamport = Lamport(i);
    out.push_back({Lseq(i), RecordType::event, {}, seal_event(event, key)});
    event.prev = event_hash(out.back().payload);
  }
  return out;
}

void spoil(Record& record) {
  record.payload.replace(record.payload.find("Other"), 5, "Ether");
}

}  // namespace

TEST_CASE("events come out in order, each once, however many threads check them") {
  const std::vector<Record> all = records(wire::SecretKey::generate());
  for (const unsigned threads : {1U, 2U, 5U}) {
    std::vector<Seq> seen;
    EventReplay replay(
        [&seen](const Record& record, Event&& event) -> Result<> {
          CHECK(record.lseq.value == event.seq.value);
          seen.push_back(event.seq);
          return {};
        },
        threads);
    for (const Record& record : all)
      REQUIRE(replay.add(record));
    REQUIRE(replay.finish());
    CHECK(seen.size() == kEvents);
    CHECK(std::is_sorted(seen.begin(), seen.end()));
  }
}

TEST_CASE("one wrong signature anywhere fails the replay by its record, and nothing behind it is handed on") {
  for (const std::size_t bad : {std::size_t{0}, kEvents / 2, kEvents - 1}) {
    std::vector<Record> all = records(wire::SecretKey::generate());
    spoil(all[bad]);
    std::size_t seen = 0;
    EventReplay replay([&seen](const Record&, Event&&) -> Result<> {
      ++seen;
      return {};
    });
    for (const Record& record : all)
      REQUIRE(replay.add(record));
    const Result<> done = replay.finish();
    REQUIRE(!done);
    CHECK(done.error().code == errc::event_signature);
    CHECK(done.error().context.find("journal record " + std::to_string(bad + 1)) != std::string::npos);
    CHECK(seen == bad);
  }
}

TEST_CASE("what a base keeps is vouched for by the base, not checked again") {
  std::vector<Record> all = records(wire::SecretKey::generate());
  spoil(all[3]);
  all[3].from_base = true;
  EventReplay replay([](const Record&, Event&&) -> Result<> { return {}; });
  for (const Record& record : all)
    REQUIRE(replay.add(record));
  CHECK(replay.finish());
}

TEST_CASE("a sink's failure ends the replay with its own error") {
  EventReplay replay([](const Record&, Event&&) -> Result<> { return fail(errc::closed, "enough"); });
  for (const Record& record : records(wire::SecretKey::generate()))
    REQUIRE(replay.add(record));
  CHECK(replay.finish().error().code == errc::closed);
}

}  // namespace postern::ledger
