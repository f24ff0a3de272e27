// SPDX-License-Identifier: Apache-2.0
#include "ledger/replica.h"

#include <doctest/doctest.h>

#include <deque>
#include <mutex>
#include <thread>

#include "stream_writer.h"
#include "unit/ledger/scratch_journal.h"

namespace postern::ledger {
namespace {

const SystemClock kClock;

// A gateway's replica over a real journal; what the journal tells from its own thread waits until it is asked
// for.
class Node {
 public:
  Node() { start(); }

  void restart() {
    stream_.reset();
    journal_.reset();
    start();
  }

  Offer offer(const SealedEvent& e) { return replica->offer({e.event, e.sealed, e.hash}); }

  // Until nothing is in flight.
  void settle() {
    while (replica->in_flight() > 0) {
      std::unique_lock lock(mutex_);
      if (posted_.empty()) {
        lock.unlock();
        std::this_thread::yield();
        continue;
      }
      const std::function<void()> task = std::move(posted_.front());
      posted_.pop_front();
      lock.unlock();
      task();
    }
  }

  void take_all(const std::vector<SealedEvent>& events) {
    for (const SealedEvent& e : events)
      REQUIRE(offer(e) == Offer::taken);
    settle();
  }

  Stream& stream() { return *stream_; }
  std::unique_ptr<Replica> replica;
  std::vector<wire::PublicKey> strangers;
  wire::SecretKey key = wire::SecretKey::generate();
  std::vector<std::string> durable;  // kinds, in the order in which they became durable

 private:
  void start() {
    scratch_.replayed.clear();
    replica = std::make_unique<Replica>("blue");
    StreamHistory history(key.public_key());
    scratch_.options.on_base = [this](const Base& base) { replica->begin(base); };
    Result<std::unique_ptr<Journal>> journal =
        Journal::open(scratch_.options, [&](const Record& record) -> Result<> {
          const Result<Event> event = open_event(record.payload);
          if (!event) return tl::unexpected(event.error());
          replica->replay(record, *event);
          return history.add(*event, record);
        });
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    journal_ = std::move(*journal);
    Result<Stream> stream =
        Stream::open(*journal_, key, kClock, "blue", history, {true, false, false}, replica->listener());
    REQUIRE(stream);
    stream_.emplace(std::move(*stream));
    replica->started(*journal_, *stream_);
    replica->on_durable([this](const VerifiedEvent& e, Lseq) { durable.push_back(e.event.kind); });
    replica->take_from_others(
        [this](const wire::PublicKey& author) {
          return std::find(strangers.begin(), strangers.end(), author) == strangers.end();
        },
        [this](std::function<void()> task) {
          const std::lock_guard lock(mutex_);
          posted_.push_back(std::move(task));
        });
  }

  ScratchJournal scratch_;
  std::unique_ptr<Journal> journal_;
  std::optional<Stream> stream_;
  std::mutex mutex_;
  std::deque<std::function<void()>> posted_;
};

Seq head_of(const Node& node, const Id128& stream) {
  const StreamState* state = node.replica->fold().find(stream);
  return state != nullptr ? state->head : Seq();
}

}  // namespace

TEST_CASE("an event of another gateway counts once it is durable, and after a restart") {
  const wire::SecretKey other = wire::SecretKey::generate();
  const std::vector<SealedEvent> events = StreamWriter(other).write_all(3);
  Node node;
  const Hash256 before = node.replica->fold().digest();
  CHECK(node.offer(events[0]) == Offer::taken);
  CHECK(node.replica->fold().digest() == before);  // whatever the disk has done by now
  CHECK(node.offer(events[0]) == Offer::known);
  CHECK(node.offer(events[1]) == Offer::taken);
  CHECK(node.offer(events[2]) == Offer::taken);
  node.settle();
  CHECK(head_of(node, events[0].event.stream) == Seq(3));
  CHECK(node.offer(events[1]) == Offer::known);
  const Hash256 after = node.replica->fold().digest();
  CHECK(after != before);
  node.restart();
  CHECK(node.replica->fold().digest() == after);
  CHECK(*node.replica->read(events[0].event.stream, Seq(2)) == events[1].sealed);
}

TEST_CASE("two gateways that gave each other all their events have the same digest") {
  Node one;
  Node two;
  REQUIRE(one.stream().write(std::vector<Draft>{{"Note", wire::Json::object()}}));
  REQUIRE(
      two.stream().write(std::vector<Draft>{{"Note", wire::Json::object()}, {"Note", wire::Json::object()}}));
  const auto give = [](Node& from, Node& to) {
    const Id128 stream = from.stream().id();
    for (Seq seq(1); seq <= from.stream().head(); seq = seq.next()) {
      const std::string sealed = **from.replica->read(stream, seq);
      REQUIRE(to.replica->offer({*open_event(sealed), sealed, event_hash(sealed)}) == Offer::taken);
    }
    to.settle();
  };
  give(one, two);
  give(two, one);
  CHECK(one.replica->fold().digest() == two.replica->fold().digest());
}

TEST_CASE("what is written after others' events were seen is later than they are") {
  const wire::SecretKey other = wire::SecretKey::generate();
  StreamWriter writer(other);
  Node node;
  node.take_all({writer.write(std::string(kStreamOpened), wire::Json::object(), 5000)});
  REQUIRE(node.stream().write(std::vector<Draft>{{"Note", wire::Json::object()}}));
  CHECK(node.replica->fold().find(node.stream().id())->lamport > Lamport(5000));
}

TEST_CASE("events of strangers, of unknown critical kinds and out of their order are not journaled") {
  const wire::SecretKey other = wire::SecretKey::generate();
  Node node;
  StreamWriter writer(other);
  const std::vector<SealedEvent> events = writer.write_all(3);
  node.strangers.push_back(other.public_key());
  CHECK(node.offer(events[0]) == Offer::untrusted);
  node.strangers.clear();
  CHECK(node.offer(events[1]) == Offer::ahead);
  node.take_all(events);
  Event critical = writer.write("FromTheFuture").event;
  critical.critical = true;
  const std::string sealed = seal_event(critical, other);
  CHECK(node.replica->offer({critical, sealed, event_hash(sealed)}) == Offer::newer);
  CHECK(head_of(node, events[0].event.stream) == Seq(3));
}

TEST_CASE("an event under a stream that is not its signer's, or of another mesh, is not journaled") {
  const wire::SecretKey author = wire::SecretKey::generate();
  const wire::SecretKey thief = wire::SecretKey::generate();
  const std::vector<SealedEvent> events = StreamWriter(author).write_all(3);
  const auto signed_as = [](Event event, const wire::SecretKey& key) {
    event.key = key.public_key();
    const std::string sealed = seal_event(event, key);
    REQUIRE(open_event(sealed));
    return VerifiedEvent{event, sealed, event_hash(sealed)};
  };
  Event elsewhere = events[1].event;
  elsewhere.mesh = "green";
  Node node;
  CHECK(node.replica->offer(signed_as(events[0].event, thief)) == Offer::invalid);
  CHECK(node.offer(events[0]) == Offer::taken);
  // Behind what is in flight, and behind what counts.
  for (int i = 0; i < 2; ++i) {
    CHECK(node.replica->offer(signed_as(events[1].event, thief)) == Offer::invalid);
    CHECK(node.replica->offer(signed_as(elsewhere, author)) == Offer::invalid);
    node.settle();
  }
  CHECK(node.durable == std::vector{std::string(kStreamOpened)});
  node.take_all({events[1], events[2]});
}

TEST_CASE("an event that does not follow on what is known before it is not journaled") {
  const wire::SecretKey author = wire::SecretKey::generate();
  const std::vector<SealedEvent> events = StreamWriter(author).write_all(2);
  Event unlinked = events[1].event;
  unlinked.prev = Hash256{7};
  const std::string sealed = seal_event(unlinked, author);
  const VerifiedEvent offered{unlinked, sealed, event_hash(sealed)};
  Node node;
  CHECK(node.offer(events[0]) == Offer::taken);
  CHECK(node.replica->offer(offered) == Offer::ahead);  // of events that are not there, as far as it shows
  node.settle();
  CHECK(node.replica->offer(offered) == Offer::diverges);
  node.settle();
  CHECK(head_of(node, events[0].event.stream) == Seq(1));
  node.take_all({events[1]});
}

TEST_CASE("a fork that is offered is proven, told in the own stream and remembered over a restart") {
  const wire::SecretKey other = wire::SecretKey::generate();
  StreamWriter writer(other);
  const std::vector<SealedEvent> shared = writer.write_all(2);
  StreamWriter side = writer;
  const std::vector<SealedEvent> a = writer.write_all(2, "a");
  const std::vector<SealedEvent> b = side.write_all(2, "b");
  Node node;
  node.take_all(shared);
  node.take_all(a);
  CHECK(node.offer(b[1]) == Offer::diverges);
  CHECK(node.offer(b[0]) == Offer::forked);
  CHECK(node.offer(a[1]) == Offer::excluded);
  CHECK(head_of(node, shared[0].event.stream) == Seq(2));
  CHECK(node.durable.back() == kStreamForked);
  CHECK(node.replica->fold().unannounced().empty());
  CHECK_FALSE(*node.replica->read(shared[0].event.stream, Seq(3)));
  const Hash256 digest = node.replica->fold().digest();
  node.restart();
  CHECK(node.replica->fold().digest() == digest);
  CHECK(node.offer(b[0]) == Offer::excluded);
}

TEST_CASE("a gateway whose own stream others know further gives it up for a new one") {
  Node node;
  REQUIRE(node.stream().write(std::vector<Draft>{{"Note", wire::Json::object()}}));
  const Id128 stream = node.stream().id();
  Event lost = *open_event(**node.replica->read(stream, Seq(2)));
  lost.prev = *node.replica->fold().hash_at(stream, Seq(2));
  lost.seq = Seq(3);
  lost.lamport = lost.lamport.next();
  const std::string sealed = seal_event(lost, node.key);
  CHECK(offer_name(node.replica->offer({lost, sealed, event_hash(sealed)})) == "own");
  CHECK(node.stream().id() != stream);
  CHECK(node.replica->own_lost().find("went back") != std::string::npos);
  // Now it is a stream like others', and what was lost comes back.
  CHECK(offer_name(node.replica->offer({lost, sealed, event_hash(sealed)})) == "taken");
  node.settle();
  CHECK(head_of(node, stream) == Seq(3));
}

TEST_CASE("a gateway whose own stream is forked gives it up and tells of the fork in the new one") {
  Node node;
  REQUIRE(node.stream().write(std::vector<Draft>{{"Note", wire::Json::object()}}));
  const Id128 stream = node.stream().id();
  Event other = *open_event(**node.replica->read(stream, Seq(2)));
  other.body = wire::Json::object({{"word", "another"}});
  const std::string sealed = seal_event(other, node.key);
  CHECK(node.replica->offer({other, sealed, event_hash(sealed)}) == Offer::forked);
  CHECK(node.stream().id() != stream);
  CHECK(node.durable ==
        std::vector<std::string>{"Note", std::string(kStreamOpened), std::string(kStreamForked)});
  CHECK(node.replica->fold().find(stream)->fork->at == Seq(2));
}

TEST_CASE("a gateway that others tell of a fork of its own stream gives it up") {
  Node node;
  REQUIRE(node.stream().write(std::vector<Draft>{{"Note", wire::Json::object()}}));
  const Id128 stream = node.stream().id();
  Event other = *open_event(**node.replica->read(stream, Seq(2)));
  const Result<std::string> mine = header_of(**node.replica->read(stream, Seq(2)));
  other.body = wire::Json::object({{"word", "another"}});
  const Result<std::string> theirs = header_of(seal_event(other, node.key));
  const Result<ForkProof> proof = prove_fork(*mine, *theirs);
  REQUIRE(proof);
  const wire::SecretKey finder = wire::SecretKey::generate();
  StreamWriter writer(finder);
  node.take_all({writer.write_all(1)[0], writer.write(std::string(kStreamForked), body_of(*proof))});
  CHECK(node.stream().id() != stream);
  CHECK(node.replica->own_lost().find("forked at seq 2") != std::string::npos);
  CHECK(head_of(node, stream) == Seq(1));
  REQUIRE(node.stream().write(std::vector<Draft>{{"Note", wire::Json::object()}}));
  CHECK(head_of(node, node.stream().id()) == Seq(2));
}

TEST_CASE(
    "a stream of its own that a gateway never knew, opened for the one it is at, makes it give that up") {
  Node node;
  const Id128 stream = node.stream().id();
  StreamWriter successor(node.key);
  const wire::Json opened =
      wire::Json::object({{"head", nullptr}, {"last_seq", nullptr}, {"predecessor", to_hex(stream)}});
  const SealedEvent opening = successor.write(std::string(kStreamOpened), opened);
  CHECK(node.offer(opening) == Offer::own);
  CHECK(node.stream().id() != stream);
  const Id128 renewed = node.stream().id();
  node.take_all({opening, successor.write("Note")});
  node.restart();
  CHECK(node.stream().id() == renewed);
}

TEST_CASE("a node opens no more than its share of streams here") {
  const wire::SecretKey other = wire::SecretKey::generate();
  Node node;
  for (std::size_t i = 0; i < kMaxStreamsANode; ++i)
    node.take_all(StreamWriter(other).write_all(1));
  CHECK(node.offer(StreamWriter(other).write_all(1)[0]) == Offer::full);
  const wire::SecretKey third = wire::SecretKey::generate();
  node.take_all(StreamWriter(third).write_all(1));
}

}  // namespace postern::ledger
