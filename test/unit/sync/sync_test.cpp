// SPDX-License-Identifier: Apache-2.0
#include "sync/sync.h"

#include "unit/sync/sync_network.h"

using namespace postern;
using namespace postern::sync;
using namespace postern::testing;
using ledger::Offer;

namespace {

// "b" tells "a" of five events and of `since` more, and runs then with a disk of before those, not linked
// yet. Returns its stream.
Id128 run_with_a_backup(SyncNetwork& network, SyncNode& b, std::size_t since) {
  network.link("a", "b");
  b.write(4);
  network.run_for(1'000);
  network.stop("b");
  const std::filesystem::path backup = b.back_up();
  b.start();
  b.write(since, "first");
  const Id128 stream = b.stream();
  network.link("a", "b");
  network.run_for(1'000);
  network.stop("b");
  b.lay_back(backup);
  b.start();
  return stream;
}

}  // namespace

TEST_CASE("a gateway that is new to the mesh gets all events and shows the same digest") {
  SyncNetwork network;
  SyncNode& old = network.add("old");
  SyncNode& fresh = network.add("new");
  const wire::SecretKey third = wire::SecretKey::generate();
  old.write(300);
  old.take(ledger::StreamWriter(third).write_all(40));
  network.link("old", "new");
  network.run_for(2'000);
  CHECK(network.level());
  CHECK(fresh.head_of(old.stream()) == Seq(301));
  CHECK(fresh.row("old").events_in == 341);
  CHECK(fresh.row("old").missing == 0);
  CHECK(old.row("new").events_out == 341);
  CHECK(old.row("new").streams_behind == 0);
}

TEST_CASE("events go both ways, and those that are written later follow within a tick or two") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  a.write(5);
  b.write(7);
  network.link("a", "b");
  network.run_for(1'000);
  REQUIRE(network.level());
  const Hash256 before = a.digest();
  a.write(1);
  b.write(2);
  network.run_for(200);
  CHECK(network.level());
  CHECK(a.digest() != before);
}

TEST_CASE("an event that cannot wait for the tick goes out with a flush, as often as a tick has rounds") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  network.link("a", "b");
  network.run_for(1'000);
  const auto told_without_tick = [&] {
    a.write(1);
    a.sync->flush();
    network.deliver();
    b.settle();
    return network.level();
  };
  CHECK(told_without_tick());
  unsigned more = 1;
  while (told_without_tick())
    REQUIRE(++more < kRoundsATick + 1);
  network.run_for(200);
  CHECK(network.level());
}

TEST_CASE("a third gateway passes on what two others, which are not linked, wrote") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  network.add("b");
  SyncNode& c = network.add("c");
  network.link("a", "b");
  network.link("b", "c");
  network.run_for(500);
  a.write(20);
  c.write(30);
  network.run_for(2'000);
  CHECK(network.level());
  CHECK(c.head_of(a.stream()) == Seq(21));
}

TEST_CASE("an event goes over each link once where all are linked") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  SyncNode& c = network.add("c");
  network.link("a", "b");
  network.link("b", "c");
  network.link("a", "c");
  network.run_for(1'000);
  REQUIRE(network.level());
  const std::uint64_t before = b.row("c").events_out + c.row("b").events_out;
  for (int i = 0; i < 10; ++i) {
    a.write(1);
    network.run_for(1'000);
  }
  CHECK(network.level());
  CHECK(b.row("c").events_out + c.row("b").events_out == before);
  CHECK(a.row("b").events_out + a.row("c").events_out >= 20);
}

TEST_CASE("a gateway that is restarted, and one whose link was cut, catch up") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  network.link("a", "b");
  network.run_for(500);
  b.write(3);
  network.run_for(500);
  network.stop("b");
  a.write(50);
  b.start();
  b.write(2);
  network.link("a", "b");
  network.run_for(1'000);
  CHECK(network.level());
  network.cut("a", "b");
  a.write(1);
  b.write(1);
  network.run_for(1'000);
  CHECK_FALSE(network.level());
  network.link("a", "b");
  network.run_for(1'000);
  CHECK(network.level());
}

TEST_CASE("a gateway whose disk went back gives its stream up, and gets back what it had forgotten") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  const Id128 stream = run_with_a_backup(network, b, 6);
  REQUIRE(a.head_of(stream) == Seq(11));
  REQUIRE(b.head_of(stream) == Seq(5));
  network.link("a", "b");
  network.run_for(3'000);
  CHECK(b.stream() != stream);
  CHECK(b.head_of(stream) == Seq(11));
  CHECK(b.replica->own_lost().find("went back") != std::string::npos);
  CHECK(network.level());
  // And it stays so over a restart.
  const Id128 renewed = b.stream();
  network.stop("b");
  b.start();
  CHECK(b.stream() == renewed);
}

TEST_CASE(
    "a restored backup that was written to is proven to fork, on both sides, however far back that lies") {
  for (const std::size_t since : {1U, 3U, 200U}) {
    CAPTURE(since);
    SyncNetwork network;
    SyncNode& a = network.add("a");
    SyncNode& b = network.add("b");
    const Id128 stream = run_with_a_backup(network, b, since);
    b.write(since, "second");
    network.link("a", "b");
    network.run_for(10'000);
    CHECK(network.level());
    for (const SyncNode* node : {&a, &b}) {
      const ledger::StreamState* const state = node->replica->fold().find(stream);
      REQUIRE(state->fork);
      CHECK(state->fork->at == Seq(6));
      CHECK(state->head == Seq(5));
    }
    CHECK(b.stream() != stream);
    b.write(1);
    network.run_for(1'000);
    CHECK(network.level());
    CHECK(a.head_of(b.stream()) == b.head_of(b.stream()));
  }
}

TEST_CASE("who says to have what it has not is shown as such, and holds up nobody") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  SyncNode& liar = network.add("liar");
  network.link("a", "b");
  network.link("a", "liar");
  network.run_for(500);
  const wire::SecretKey third = wire::SecretKey::generate();
  Marks lies;
  lies.marks = {{b.stream(), Seq(1'000'000), Hash256{1}, Seq()},
                {ledger::new_stream_id(third.public_key()), Seq(50), Hash256{2}, Seq()}};
  std::sort(lies.marks.begin(), lies.marks.end(),
            [](const StreamMark& x, const StreamMark& y) { return x.stream < y.stream; });
  network.send_as("liar", "a", lies);
  network.deliver();
  const std::uint64_t head = a.head_of(b.stream()).value;
  CHECK(a.row("liar").missing == 1'000'050 - head);
  b.write(30);
  liar.write(3);
  network.run_for(1'000);
  CHECK(a.digest() == b.digest());
  // It told the truth about the one stream when it had got it; nobody can tell about the other.
  CHECK(a.row("liar").missing == 50);
  CHECK(a.row("b").missing == 0);
}

TEST_CASE("a forged event ends the sync with its sender for a while, longer each time, and nothing else") {
  SyncNetwork network;
  network.keep_diary = true;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  network.add("bad");
  network.link("a", "b");
  network.link("a", "bad");
  network.run_for(500);
  const wire::SecretKey third = wire::SecretKey::generate();
  const std::vector<ledger::SealedEvent> events = ledger::StreamWriter(third).write_all(2);
  std::string forged = events[1].sealed;
  forged[forged.find("\"word\":\"a\"") + 8] = 'b';
  std::uint64_t last_ns = 0;
  for (std::uint64_t times = 1; times <= 3; ++times) {
    std::uint32_t session = 0;
    for (int i = 0; i < 100 && !a.row("bad").on; ++i)
      network.run_for(100);
    REQUIRE(a.row("bad").on);
    for (const Message& said : network.messages("a", "bad"))
      if (const auto* credit = std::get_if<Credit>(&said); credit != nullptr) session = credit->session;
    network.send_as("bad", "a", Events{session, events[0].event.stream, Seq(1), {events[0].sealed, forged}});
    network.deliver();
    CHECK(a.sync->counts().forged == times);
    CHECK(a.row("bad").penalties == times);
    CHECK(a.row("bad").penalty_left_ns > last_ns);
    CHECK(a.row("bad").why.find("not signed by the key it names") != std::string::npos);
    CHECK_FALSE(a.row("bad").on);
    last_ns = a.row("bad").penalty_left_ns;
  }
  // What was good before it counts, and the others' events went on.
  CHECK(a.head_of(events[0].event.stream) == Seq(1));
  b.write(5);
  network.run_for(1'000);
  CHECK(a.digest() == b.digest());
  network.run_for(10'000);
  CHECK(network.level());
}

TEST_CASE("an event that is another than it was said to be is as good as forged") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  network.add("bad");
  network.link("a", "bad");
  network.run_for(500);
  const wire::SecretKey third = wire::SecretKey::generate();
  const std::vector<ledger::SealedEvent> events = ledger::StreamWriter(third).write_all(2);
  network.send_as("bad", "a", Events{1, events[0].event.stream, Seq(2), {events[0].sealed}});
  network.deliver();
  CHECK(a.sync->counts().forged == 1);
  CHECK(a.head_of(events[0].event.stream) == Seq());
}

TEST_CASE(
    "a malformed message ends the sync with its sender for a while; one of a later version is passed over") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  network.link("a", "b");
  network.run_for(500);
  a.sync->on_message("b", Bytes{200, 1, 2, 3});
  CHECK(a.sync->counts().unknown == 1);
  CHECK(a.row("b").penalties == 0);
  a.sync->on_message("b", Bytes{6, 1});
  CHECK(a.sync->counts().malformed == 1);
  CHECK(a.row("b").why == "sync.malformed: want: 1 bytes, expected 32");
  b.write(10);
  network.run_for(500);
  CHECK_FALSE(network.level());
  network.run_for(2'000);
  CHECK(network.level());
}

TEST_CASE("an event far ahead of all clocks waits, with those behind it, until the clocks have come closer") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  const wire::SecretKey third = wire::SecretKey::generate();
  const wire::SecretKey fourth = wire::SecretKey::generate();
  ledger::StreamWriter bridge(fourth);
  const std::vector<ledger::SealedEvent> steps = {
      bridge.write(std::string(ledger::kStreamOpened), wire::Json::object(), ledger::kMaxLamportStep)};
  ledger::StreamWriter writer(third);
  std::vector<ledger::SealedEvent> events = writer.write_all(2);
  events.push_back(writer.write("Note", wire::Json::object(), ledger::kMaxLamportStep * 3 / 2));
  events.push_back(writer.write("Note"));
  // One that knows of a higher clock passes them on before it passes on what raised it.
  b.take(steps);
  b.take(events);
  a.strangers.insert(fourth.public_key());
  network.link("a", "b");
  network.run_for(1'000);
  CHECK(a.head_of(writer.stream()) == Seq(2));
  CHECK(a.count(Offer::early) >= 1);
  CHECK(a.sync->early_bytes() == events[2].sealed.size() + events[3].sealed.size());
  network.cut("a", "b");
  a.strangers.clear();
  a.take(steps);
  network.run_for(200);
  CHECK(a.head_of(writer.stream()) == Seq(4));
  CHECK(a.sync->early_bytes() == 0);
}

TEST_CASE("events of authors that are not in the snapshot yet are taken once they are") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  a.strangers.insert(b.key.public_key());
  b.write(10);
  network.link("a", "b");
  network.run_for(2'000);
  CHECK(a.head_of(b.stream()) == Seq());
  CHECK(a.count(Offer::untrusted) > 0);
  a.strangers.clear();
  a.sync->authors_changed();
  network.run_for(1'000);
  CHECK(network.level());
}

TEST_CASE("a refused stream costs an event now and then, each time later, and holds up no other") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  const wire::SecretKey third = wire::SecretKey::generate();
  const std::vector<ledger::SealedEvent> refused = ledger::StreamWriter(third).write_all(500);
  b.take(refused);
  a.strangers.insert(third.public_key());
  network.link("a", "b");
  network.run_for(1'000);
  const std::uint64_t first = a.count(Offer::untrusted);
  CHECK(first <= 500);
  network.run_for(60'000);
  CHECK(a.count(Offer::untrusted) >= first + 2);
  CHECK(a.count(Offer::untrusted) <= first + 6);
  b.write(3);
  network.run_for(500);
  CHECK(a.head_of(b.stream()) == b.head_of(b.stream()));
}
