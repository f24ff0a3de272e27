// SPDX-License-Identifier: Apache-2.0
// Streams that are summed up, compacted and stepped over (SPEC 5.7): whoever steps has the state of whoever
// has everything, and nothing that a liar makes of a step is taken.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "ledger/authority_events.h"
#include "ledger/event_rules.h"
#include "sim/random_source.h"
#include "unit/ledger/claim_writer.h"
#include "unit/ledger/stream_writer.h"

namespace postern::ledger {
namespace {

using sim::RandomSource;

constexpr std::size_t kLives = 400;

// A stream of events of all sorts, summed up by its author at random places.
std::vector<SealedEvent> random_stream(RandomSource& random, const wire::SecretKey& author) {
  StreamWriter writer(author);
  std::vector<SealedEvent> out = writer.write_all(1);
  Skeleton skeleton;
  skeleton.add(out[0].event.kind, out[0].event.seq, out[0].hash);
  const std::size_t events = 10 + random.below(60);
  for (std::size_t i = 0; i < events; ++i) {
    if (random.chance(12))
      out.push_back(writer.write(std::string(kStreamCondensed), body_of(skeleton)));
    else if (random.chance(60))
      out.push_back(writer.write("AuthorityActive"));
    else if (random.chance(40))
      out.push_back(writer.write("FenceRaised",
                                 wire::Json::object({{"epoch", wire::Json::decimal(1 + random.below(9))},
                                                     {"resource", std::int64_t{1}}}),
                                 10));
    else
      out.push_back(writer.write("Note", wire::Json::object({{"i", static_cast<std::int64_t>(i)}})));
    skeleton.add(out.back().event.kind, out.back().event.seq, out.back().hash);
  }
  return out;
}

Fold fold_of(const std::vector<SealedEvent>& events, std::size_t number) {
  Fold fold("blue");
  for (std::size_t i = 0; i < number; ++i) {
    REQUIRE(fold.place(events[i].event, events[i].hash) == Place::next);
    fold.add(events[i].event, events[i].hash);
  }
  return fold;
}

// What a compaction of the first `number` of these events keeps, and its heads.
BaseState compacted(const std::vector<SealedEvent>& events, std::size_t number, const wire::PublicKey& own,
                    const BaseState& before, std::size_t from) {
  EventSummary summary(compaction_rules(), own);
  REQUIRE(summary.start(before));
  for (std::size_t i = from; i < number; ++i) {
    Record record;
    record.lseq = Lseq(i + 1);
    record.type = RecordType::event;
    record.payload = events[i].sealed;
    REQUIRE(summary.add(record));
  }
  Result<BaseState> state = summary.finish();
  REQUIRE(state);
  return std::move(*state);
}

// A gateway that compacted twice, and read its journal again.
struct Holder {
  Holder(const std::vector<SealedEvent>& stream, RandomSource& random) {
    const wire::PublicKey own = wire::SecretKey::generate().public_key();
    const std::size_t first = 1 + random.below(stream.size());
    const std::size_t second = first + random.below(stream.size() - first + 1);
    base = compacted(stream, second, own, compacted(stream, first, own, {}, 0), first);
    fold.start(base.streams);
    for (const KeptEvent& kept : base.events) {
      const Event event = *read_event(kept.payload);
      fold.recall(event, event_hash(kept.payload));
      there.insert(event.seq);
    }
    for (std::size_t i = second; i < stream.size(); ++i) {
      fold.resume(stream[i].event, stream[i].hash);
      there.insert(stream[i].event.seq);
    }
  }
  BaseState base;
  std::set<Seq> there;
  Fold fold{"blue"};
};

StepEvent step_event(const SealedEvent& e) {
  return {e.event, e.hash};
}

// The step behind `head` that the holder gives; empty where it has the next event itself, or none.
std::vector<StepEvent> step_from(const std::vector<SealedEvent>& stream, const std::set<Seq>& there,
                                 Seq head) {
  std::vector<StepEvent> step;
  if (there.count(head.next()) != 0) return {};
  for (const Seq seq : there) {
    if (seq <= head) continue;
    const SealedEvent& e = stream[seq.value - 1];
    const bool last = e.event.kind == kStreamCondensed;
    if (last || !is_condensable(e.event.kind)) step.push_back(step_event(e));
    if (last) return step;
  }
  return {};
}

// One event left out, doubled or exchanged.
std::vector<StepEvent> spoilt(std::vector<StepEvent> step, RandomSource& random, const SealedEvent& another) {
  const std::size_t at = random.below(step.size());
  switch (random.below(3)) {
    case 0:
      step.erase(step.begin() + static_cast<std::ptrdiff_t>(at));
      return step;
    case 1:
      step.insert(step.begin() + static_cast<std::ptrdiff_t>(at), step[at]);
      return step;
    default:
      step[at] = step_event(another);
      return step;
  }
}

}  // namespace

TEST_CASE("skeleton_proptest: who steps over what was compacted has the state of who has everything") {
  std::size_t steps = 0;
  std::size_t dropped = 0;
  for (std::size_t life = 0; life < kLives; ++life) {
    CAPTURE(life);
    RandomSource random(life);
    const wire::SecretKey author = wire::SecretKey::generate();
    const std::vector<SealedEvent> stream = random_stream(random, author);
    const Fold all = fold_of(stream, stream.size());
    const Holder holder(stream, random);
    REQUIRE(holder.fold.digest() == all.digest());
    dropped += stream.size() - holder.there.size();

    const std::size_t known = random.below(stream.size());
    Fold comer = fold_of(stream, known);
    Fold again = fold_of(stream, known);  // reads of its journal what the other wrote
    const SealedEvent another = StreamWriter(author).write_all(1)[0];
    for (Seq head(known); head < Seq(stream.size());) {
      const std::vector<StepEvent> step = step_from(stream, holder.there, head);
      if (step.empty()) {
        REQUIRE(holder.there.count(head.next()) != 0);
        const SealedEvent& e = stream[head.value];
        REQUIRE(comer.place(e.event, e.hash) == Place::next);
        comer.add(e.event, e.hash);
        again.resume(e.event, e.hash);
      } else {
        for (int i = 0; i < 4; ++i)
          REQUIRE(comer.place_step(spoilt(step, random, another)) != Place::next);
        // One of its events was not journaled, and the last one was.
        Fold torn = again;
        const std::size_t lost = random.below(step.size() - 1);
        for (std::size_t i = 0; i < step.size(); ++i)
          if (i != lost) torn.resume(step[i].event, step[i].hash);
        REQUIRE((step.size() == 1 || torn.digest() == again.digest()));
        // A crash in the middle of it, and once more.
        for (std::size_t i = 0; i < random.below(step.size()); ++i)
          again.resume(step[i].event, step[i].hash);
        REQUIRE(comer.place_step(step) == Place::next);
        comer.take_step(step);
        for (const StepEvent& one : step)
          again.resume(one.event, one.hash);
        ++steps;
      }
      head = comer.find(stream[0].event.stream)->head;
      REQUIRE(again.digest() == comer.digest());
    }
    CHECK(comer.digest() == all.digest());
  }
  CHECK(steps > kLives / 4);
  CHECK(dropped > kLives);
}

TEST_CASE("an event is done away with only behind a summary of its author that is right") {
  const wire::SecretKey author = wire::SecretKey::generate();
  StreamWriter writer(author);
  std::vector<SealedEvent> stream = writer.write_all(2);
  stream.push_back(writer.write("AuthorityActive"));
  const wire::PublicKey own = wire::SecretKey::generate().public_key();
  CHECK(compacted(stream, 3, own, {}, 0).events.size() == 3);
  stream.push_back(writer.write(std::string(kStreamCondensed), body_of(Skeleton{2, Hash256{1}})));
  CHECK(compacted(stream, 4, own, {}, 0).events.size() == 4);
  Skeleton skeleton;
  for (const SealedEvent& e : stream)
    skeleton.add(e.event.kind, e.event.seq, e.hash);
  stream.push_back(writer.write(std::string(kStreamCondensed), body_of(skeleton)));
  // The first two and the summary that is right.
  CHECK(compacted(stream, 5, own, {}, 0).events.size() == 3);
}

TEST_CASE("a step may take the clock as far as its events could have, and no further") {
  const wire::SecretKey author = wire::SecretKey::generate();
  for (const std::uint64_t ahead : {std::uint64_t{0}, std::uint64_t{1}}) {
    StreamWriter writer(author);
    std::vector<SealedEvent> stream = writer.write_all(1);
    stream.push_back(writer.write("AuthorityActive", wire::Json::object(), kMaxLamportStep));
    Skeleton skeleton;
    skeleton.add(stream[0].event.kind, Seq(1), stream[0].hash);
    // Lamport 1 already, so three steps end one short of what three events could.
    stream.push_back(
        writer.write(std::string(kStreamCondensed), body_of(skeleton), 2 * kMaxLamportStep - 1 + ahead));
    const std::vector<StepEvent> step = {step_event(stream[0]), step_event(stream[2])};
    CHECK(Fold("blue").place_step(step) == (ahead == 0 ? Place::next : Place::early));
  }
}

}  // namespace postern::ledger
