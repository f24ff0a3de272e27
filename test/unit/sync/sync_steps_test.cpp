// SPDX-License-Identifier: Apache-2.0
// Gateways that come when others have compacted away what they lack (SPEC 5.7, 9.6).
#include "ledger/skeleton.h"
#include "unit/sync/sync_network.h"

using namespace postern;
using namespace postern::sync;
using namespace postern::testing;

namespace {

constexpr std::size_t kSmall = 300;

// A stream as its author has it: seven events, the third and fifth condensable, the last one a
// StreamCondensed.
std::vector<ledger::SealedEvent> condensed_stream(const wire::SecretKey& author) {
  ledger::StreamWriter writer(author);
  std::vector<ledger::SealedEvent> out = writer.write_all(2);
  for (const char* kind : {"TimestampSeen", "Note", "TimestampSeen", "Note"})
    out.push_back(writer.write(kind));
  ledger::Skeleton skeleton;
  for (const ledger::SealedEvent& e : out)
    skeleton.add(e.event.kind, e.event.seq, e.hash);
  out.push_back(writer.write(std::string(ledger::kStreamCondensed), ledger::body_of(skeleton)));
  return out;
}

std::uint32_t session_of(const SyncNetwork& network, const std::string& from, const std::string& to) {
  std::uint32_t session = 0;
  for (const Message& said : network.messages(from, to))
    if (const auto* credit = std::get_if<Credit>(&said); credit != nullptr) session = credit->session;
  return session;
}

// A node and a peer of it that says what the test has it say.
struct Listener {
  Listener() {
    network.keep_diary = true;
    network.link("a", "peer");
    network.run_for(300);
    session = session_of(network, "a", "peer");
  }
  // The events at these places of the stream, as one step up to the last of them.
  void step(const std::vector<std::size_t>& places) {
    Step said{session, events[0].event.stream, events[places.back()].event.seq, true, true, {}};
    for (const std::size_t place : places)
      said.sealed.emplace_back(events[place].sealed);
    network.send_as("peer", "a", said);
    network.deliver();
    a.settle();
  }
  Seq head() const { return a.head_of(events[0].event.stream); }

  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& peer = network.add("peer");
  const wire::SecretKey author = wire::SecretKey::generate();
  const std::vector<ledger::SealedEvent> events = condensed_stream(author);
  std::uint32_t session = 0;
};

}  // namespace

TEST_CASE(
    "a newcomer to gateways that have compacted comes to their digest, and so does one that comes to it") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  network.link("a", "b");
  a.adopt(150, kSmall);
  b.adopt(100, kSmall);
  b.write(3);
  network.run_for(2'000);
  REQUIRE(network.level());
  a.compact();
  network.run_for(2'000);
  b.compact();
  network.run_for(2'000);
  REQUIRE(network.level());
  for (const SyncNode* node : {&a, &b})
    for (const Id128& stream : {a.stream(), b.stream()})
      REQUIRE_FALSE(*node->replica->read(stream, Seq(4)));

  SyncNode& c = network.add("c");
  network.link("b", "c");
  network.run_for(20'000);
  CHECK(network.level());
  CHECK(c.sync->counts().stepped >= 2);
  CHECK(c.row("b").missing == 0);
  const Hash256 digest = c.digest();
  network.stop("c");
  c.start();
  CHECK(c.digest() == digest);

  // It passes on what it stepped over as it got it, and goes on with what is new.
  SyncNode& d = network.add("d");
  network.link("c", "d");
  network.link("b", "c");
  a.write(2);
  network.run_for(20'000);
  CHECK(network.level());
  CHECK(d.sync->counts().stepped >= 2);
  // What it got by steps survives its own compaction.
  d.compact();
  network.run_for(2'000);
  network.stop("d");
  d.start();
  network.add("e");
  network.link("d", "e");
  network.link("c", "d");
  network.run_for(20'000);
  CHECK(network.level());
}

TEST_CASE("a gateway that was away while the others compacted comes to their digest") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  network.link("a", "b");
  a.adopt(30, kSmall);
  network.run_for(2'000);
  REQUIRE(network.level());
  network.stop("b");
  a.adopt(150, kSmall);
  a.compact();
  b.start();
  b.write(1);
  network.link("a", "b");
  network.run_for(20'000);
  CHECK(network.level());
  CHECK(b.sync->counts().stepped >= 1);
}

TEST_CASE("steps of a stream of any size come in parts of a bounded size") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  a.adopt(20, kSmall);
  for (int i = 0; i < 100; ++i)
    a.write(1, "large", 40'000);
  a.adopt(70, kSmall);
  a.compact();
  SyncNode& b = network.add("b");
  network.link("a", "b");
  network.run_for(30'000);
  CHECK(network.level());
  CHECK(b.sync->counts().stepped >= 2);
  CHECK(b.sync->counts().step_dropped == 0);
}

TEST_CASE("a step is taken on its author's word alone: nothing may be left out, put in or changed") {
  Listener l;
  l.step({0, 1, 3, 6});  // without the sixth event
  l.step({0, 3, 5, 6});
  l.step({1, 3, 5, 6});
  l.step({0, 1, 3, 5});        // not summed up
  l.step({0, 1, 2, 3, 5, 6});  // with one that is not kept
  CHECK(l.head() == Seq());
  CHECK(l.a.sync->counts().stepped == 0);
  CHECK(l.a.sync->counts().step_unproven >= 2);
  l.step({0, 1, 3, 5, 6});
  CHECK(l.head() == Seq(7));
  CHECK(l.a.sync->counts().stepped == 1);
  CHECK(l.a.row("peer").penalties == 0);
  // Another author's summary of it is none.
  Listener other;
  const wire::SecretKey stranger = wire::SecretKey::generate();
  ledger::Event last = other.events[6].event;
  last.key = stranger.public_key();
  const std::string sealed = ledger::seal_event(last, stranger);
  Step said{other.session, last.stream, last.seq, true, true, {}};
  for (const std::size_t place : {0U, 1U, 3U, 5U})
    said.sealed.emplace_back(other.events[place].sealed);
  said.sealed.emplace_back(sealed);
  other.network.send_as("peer", "a", said);
  other.network.run_for(300);
  CHECK(other.head() == Seq());
}

TEST_CASE("what another peer may still have is not stepped over, unless it does not send it") {
  Listener l;
  SyncNode& full = l.network.add("full");
  full.take(l.events);
  l.network.slow.insert({"full", "a"});  // its marks are on their way
  l.network.link("a", "full");
  l.step({0, 1, 3, 5, 6});
  CHECK(l.head() == Seq());
  CHECK(l.a.sync->counts().step_waits == 1);
  l.network.slow.clear();
  l.network.run_for(2'000);
  CHECK(l.head() == Seq(7));
  CHECK(l.a.sync->counts().stepped == 0);
  CHECK(*l.a.replica->read(l.events[2].event.stream, Seq(3)) == l.events[2].sealed);

  // One that says to have everything and sends nothing is waited for a while.
  Listener other;
  SyncNode& liar = other.network.add("liar");
  other.network.link("a", "liar");
  other.network.run_for(300);
  const StreamMark claimed{other.events[0].event.stream, Seq(7), other.events[6].hash, Seq()};
  other.network.send_as("liar", "a", Marks{false, {}, {claimed}});
  other.network.deliver();
  other.step({0, 1, 3, 5, 6});
  CHECK(other.head() == Seq());
  other.network.run_for(5'000);
  other.step({0, 1, 3, 5, 6});
  CHECK(other.head() == Seq(7));
  CHECK(liar.head_of(other.events[0].event.stream) == Seq());
}

TEST_CASE("a step that comes in pieces that do not belong together is none") {
  Listener l;
  const auto part = [&](std::vector<std::size_t> places, bool first, bool last) {
    Step said{l.session, l.events[0].event.stream, Seq(7), first, last, {}};
    for (const std::size_t place : places)
      said.sealed.emplace_back(l.events[place].sealed);
    l.network.send_as("peer", "a", said);
    l.network.deliver();
    l.a.settle();
  };
  part({3, 5, 6}, false, true);
  part({0, 1}, true, false);
  part({0, 1}, true, false);
  part({5, 6}, false, true);
  part({3, 5, 6}, false, true);
  CHECK(l.head() == Seq());
  part({0, 1}, true, false);
  part({3}, false, false);
  part({5, 6}, false, true);
  CHECK(l.head() == Seq(7));
}
