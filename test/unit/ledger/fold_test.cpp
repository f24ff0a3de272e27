// SPDX-License-Identifier: Apache-2.0
#include "ledger/fold.h"

#include <doctest/doctest.h>

#include "stream_writer.h"

namespace postern::ledger {
namespace {

struct Two {
  wire::SecretKey a = wire::SecretKey::generate();
  wire::SecretKey b = wire::SecretKey::generate();
};

void add_all(Fold& fold, const std::vector<SealedEvent>& events) {
  for (const SealedEvent& e : events) {
    REQUIRE(fold.place(e.event, e.hash) == Place::next);
    fold.add(e.event, e.hash);
  }
}

// Side b of a stream, which leaves side a behind its first `shared` events.
struct Forked {
  std::vector<SealedEvent> a;
  std::vector<SealedEvent> b;
};

Forked forked(const wire::SecretKey& key, std::size_t shared, std::size_t a, std::size_t b) {
  StreamWriter writer(key);
  Forked out;
  out.a = writer.write_all(shared);
  out.b = out.a;
  StreamWriter other = writer;
  for (SealedEvent& e : writer.write_all(a, "a"))
    out.a.push_back(std::move(e));
  for (SealedEvent& e : other.write_all(b, "b"))
    out.b.push_back(std::move(e));
  return out;
}

ForkProof proof_of(const SealedEvent& one, const SealedEvent& two) {
  return *prove_fork(*header_of(one.sealed), *header_of(two.sealed));
}

Place place(const Fold& fold, const SealedEvent& e) {
  return fold.place(e.event, e.hash);
}

}  // namespace

TEST_CASE("events of a stream are taken in their order and known afterwards") {
  const Two keys;
  const std::vector<SealedEvent> events = StreamWriter(keys.a).write_all(4);
  Fold fold("blue");
  CHECK(place(fold, events[1]) == Place::ahead);
  add_all(fold, events);
  for (const SealedEvent& e : events)
    CHECK(place(fold, e) == Place::known);
  const StreamState* state = fold.find(events[0].event.stream);
  REQUIRE(state != nullptr);
  CHECK(state->head == Seq(4));
  CHECK(state->head_hash == events[3].hash);
  CHECK(fold.hash_at(events[0].event.stream, Seq(2)) == events[1].hash);
}

TEST_CASE("the digest tells of each event and not of the order between streams") {
  const Two keys;
  const std::vector<SealedEvent> a = StreamWriter(keys.a).write_all(3);
  const std::vector<SealedEvent> b = StreamWriter(keys.b).write_all(2);
  Fold one("blue");
  Fold two("blue");
  const Hash256 empty = one.digest();
  add_all(one, a);
  const Hash256 half = one.digest();
  CHECK(half != empty);
  add_all(one, b);
  CHECK(one.digest() != half);
  add_all(two, b);
  add_all(two, a);
  CHECK(one.digest() == two.digest());
}

TEST_CASE("an event under another node's stream, by another key or of another mesh is foreign") {
  const Two keys;
  const std::vector<SealedEvent> a = StreamWriter(keys.a).write_all(2);
  Fold fold("blue");
  Event stolen = a[0].event;
  stolen.key = keys.b.public_key();
  CHECK(fold.place(stolen, a[0].hash) == Place::foreign);
  fold.add(a[0].event, a[0].hash);
  stolen = a[1].event;
  stolen.key = keys.b.public_key();
  CHECK(fold.place(stolen, a[1].hash) == Place::foreign);
  Event elsewhere = a[1].event;
  elsewhere.mesh = "green";
  CHECK(fold.place(elsewhere, a[1].hash) == Place::foreign);
}

TEST_CASE("a stream that does not begin with StreamOpened, or whose lamport does not rise, is malformed") {
  const Two keys;
  Fold fold("blue");
  StreamWriter unopened(keys.a);
  CHECK(place(fold, unopened.write("Note")) == Place::malformed);
  StreamWriter writer(keys.b);
  add_all(fold, writer.write_all(2));
  CHECK(place(fold, writer.write("Note", wire::Json::object(), 0)) == Place::malformed);
  StreamWriter again(keys.a);
  add_all(fold, again.write_all(1));
  CHECK(place(fold, again.write(std::string(kStreamOpened))) == Place::malformed);
}

TEST_CASE("an event far ahead of all clocks waits until they have come closer") {
  const Two keys;
  Fold fold("blue");
  StreamWriter fast(keys.a);
  const SealedEvent far = fast.write(std::string(kStreamOpened), wire::Json::object(), kMaxLamportStep + 7);
  CHECK(place(fold, far) == Place::early);
  StreamWriter steady(keys.b);
  add_all(fold, steady.write_all(6));
  CHECK(place(fold, far) == Place::early);
  add_all(fold, steady.write_all(1));
  CHECK(place(fold, far) == Place::next);
  add_all(fold, {far});
  const SealedEvent further = fast.write("Note", wire::Json::object(), kMaxLamportStep + 1);
  CHECK(place(fold, further) == Place::early);
  fold.raise_lamport(Lamport(far.event.lamport.value + 1));
  CHECK(place(fold, further) == Place::next);
}

TEST_CASE("floors and fences raise what is too early") {
  const Two keys;
  Fold fold("blue");
  StreamWriter writer(keys.a);
  const SealedEvent far = writer.write(std::string(kStreamOpened), wire::Json::object(), kMaxLamportStep + 7);
  fold.raise_lamport(Lamport(7));
  CHECK(place(fold, far) == Place::next);
}

TEST_CASE("two events after one predecessor prove a fork, and neither side counts") {
  const Two keys;
  const Forked stream = forked(keys.a, 3, 3, 2);
  Fold one("blue");
  Fold two("blue");
  add_all(one, stream.a);
  add_all(two, stream.b);
  CHECK(one.digest() != two.digest());
  CHECK(place(one, stream.b[3]) == Place::forks);
  CHECK(place(one, stream.b[4]) == Place::diverges);
  CHECK(place(two, stream.a[5]) == Place::diverges);  // the next number, behind another event
  CHECK(one.learn(proof_of(stream.a[3], stream.b[3])));
  CHECK(two.learn(proof_of(stream.b[3], stream.a[3])));
  CHECK(one.digest() == two.digest());
  const StreamState* state = one.find(stream.a[0].event.stream);
  REQUIRE(state != nullptr);
  CHECK(state->head == Seq(3));
  CHECK(state->head_hash == stream.a[2].hash);
  CHECK(place(one, stream.a[3]) == Place::excluded);
  CHECK(place(one, stream.b[4]) == Place::excluded);
  CHECK(place(one, stream.a[2]) == Place::known);
}

TEST_CASE("a fork shows in the digest though nothing had to be taken back") {
  const Two keys;
  const Forked stream = forked(keys.a, 2, 1, 1);
  Fold fold("blue");
  add_all(fold, {stream.a[0], stream.a[1]});
  const Hash256 before = fold.digest();
  CHECK(fold.learn(proof_of(stream.a[2], stream.b[2])));
  CHECK(fold.find(stream.a[0].event.stream)->head == Seq(2));
  CHECK(fold.digest() != before);
}

TEST_CASE("a fork further back outranks one that was proven before it, not the other way round") {
  const Two keys;
  StreamWriter writer(keys.a);
  const std::vector<SealedEvent> shared = writer.write_all(2);
  StreamWriter side = writer;
  const std::vector<SealedEvent> a = writer.write_all(2, "a");
  const std::vector<SealedEvent> b = side.write_all(1, "b");
  StreamWriter late_a = writer;
  const SealedEvent a5 = writer.write("Note", wire::Json::object({{"word", "x"}}));
  const SealedEvent a5_other = late_a.write("Note", wire::Json::object({{"word", "y"}}));
  const ForkProof late = proof_of(a5, a5_other);
  const ForkProof early = proof_of(a[0], b[0]);
  Fold one("blue");
  add_all(one, shared);
  add_all(one, a);
  Fold two = one;
  CHECK(one.learn(late));
  CHECK(one.learn(early));
  CHECK(two.learn(early));
  CHECK_FALSE(two.learn(late));
  CHECK(one.digest() == two.digest());
  CHECK(one.find(writer.stream())->fork->at == Seq(3));
}

TEST_CASE("StreamForked carries a fork to those who never saw its sides") {
  const Two keys;
  const Forked stream = forked(keys.a, 2, 1, 1);
  const ForkProof proof = proof_of(stream.a[2], stream.b[2]);
  StreamWriter teller(keys.b);
  std::vector<SealedEvent> told = teller.write_all(1);
  told.push_back(teller.write(std::string(kStreamForked), body_of(proof)));
  Fold fold("blue");
  add_all(fold, told);
  const StreamState* state = fold.find(stream.a[0].event.stream);
  REQUIRE(state != nullptr);
  CHECK(state->fork->at == Seq(3));
  CHECK(fold.unannounced().empty());
  CHECK(place(fold, stream.a[0]) == Place::next);
  CHECK(place(fold, stream.a[2]) == Place::excluded);
}

TEST_CASE("a fork that was told in a stream that is forked itself has to be told again") {
  const Two keys;
  const wire::SecretKey third = wire::SecretKey::generate();
  const Forked stream = forked(keys.a, 2, 1, 1);
  const ForkProof proof = proof_of(stream.a[2], stream.b[2]);
  StreamWriter teller(keys.b);
  Fold fold("blue");
  add_all(fold, teller.write_all(1));
  StreamWriter other = teller;
  const SealedEvent told = teller.write(std::string(kStreamForked), body_of(proof));
  add_all(fold, {told});
  CHECK(fold.unannounced().empty());
  CHECK(fold.learn(proof_of(told, other.write("Note"))));
  REQUIRE(fold.unannounced().size() == 2);
  CHECK(fold.find(stream.a[0].event.stream)->fork->at == Seq(3));
  StreamWriter again(third);
  add_all(fold, again.write_all(1));
  for (const ForkProof& missing : fold.unannounced()) {
    add_all(fold, {again.write(std::string(kStreamForked), body_of(missing))});
  }
  CHECK(fold.unannounced().empty());
}

TEST_CASE("a StreamForked that proves nothing is an event without effect") {
  const Two keys;
  const std::vector<SealedEvent> honest = StreamWriter(keys.a).write_all(3);
  StreamWriter liar(keys.b);
  std::vector<SealedEvent> told = liar.write_all(1);
  const std::string header = *header_of(honest[1].sealed);
  told.push_back(
      liar.write(std::string(kStreamForked), wire::Json::object({{"first", header}, {"second", header}})));
  Fold fold("blue");
  add_all(fold, honest);
  add_all(fold, told);
  CHECK_FALSE(fold.find(honest[0].event.stream)->fork);
  CHECK(fold.find(told[0].event.stream)->head == Seq(2));
}

TEST_CASE("a fold that goes on from a base comes to the same digest") {
  const Two keys;
  StreamWriter writer(keys.a);
  const std::vector<SealedEvent> first = writer.write_all(5);
  const std::vector<SealedEvent> rest = writer.write_all(2);
  Fold whole("blue");
  add_all(whole, first);
  Fold compacted("blue");
  compacted.start({{writer.stream(), {keys.a.public_key(), Seq(5), first[4].hash, first[4].event.lamport}}});
  CHECK(whole.digest() == compacted.digest());
  CHECK(place(compacted, first[4]) == Place::known);
  CHECK(place(compacted, first[2]) == Place::compacted);
  add_all(whole, rest);
  add_all(compacted, rest);
  CHECK(whole.digest() == compacted.digest());
  CHECK(compacted.first_known(writer.stream()) == Seq(6));
}

TEST_CASE("a fork inside what a base stands for cuts the stream there") {
  const Two keys;
  const Forked stream = forked(keys.a, 2, 4, 1);
  const ForkProof proof = proof_of(stream.a[2], stream.b[2]);
  Fold whole("blue");
  add_all(whole, stream.a);
  Fold compacted("blue");
  compacted.start({{stream.a[0].event.stream,
                    {keys.a.public_key(), Seq(6), stream.a[5].hash, stream.a[5].event.lamport}}});
  CHECK(whole.learn(proof));
  CHECK(compacted.learn(proof));
  CHECK(whole.digest() == compacted.digest());
}

}  // namespace postern::ledger
