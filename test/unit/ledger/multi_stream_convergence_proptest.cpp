// SPDX-License-Identifier: Apache-2.0
// The same events give the same state (SPEC 5.4): universes of signed streams, some of them forked, delivered
// to two replicas in orders of their own, with duplicates, with compactions in between. Among the events are
// claims of two resources, and all that may end them. A case is its seed.
#include <doctest/doctest.h>

#include <cstdlib>

#include "ledger/claim_events.h"
#include "ledger/fold.h"
#include "sim/random_source.h"
#include "stream_writer.h"

namespace postern::ledger {
namespace {

using sim::RandomSource;

constexpr std::size_t kUniverses = 250;
constexpr std::size_t kOrdersEach = 400;
static_assert(kUniverses * kOrdersEach >= 100'000);

struct Universe {
  std::vector<wire::SecretKey> keys;
  std::vector<SealedEvent> events;
  std::map<Id128, Seq> least_fork;  // of the streams that are forked
  std::vector<Token> tokens;        // of claims that were written so far
  Roster roster;
};

// Something about a resource that its author might say, or anybody.
ClaimEvent claim_event(const Universe& universe, RandomSource& random) {
  const ResourceNumber resource(static_cast<std::uint32_t>(random.between(1, 2)));
  const Token some =
      universe.tokens.empty() ? Token{} : universe.tokens[random.below(universe.tokens.size())];
  const EventId claim = some.claim.seq == Seq() ? EventId{Id128{1}, Seq(1)} : some.claim;
  const Epoch epoch(random.between(1, 6));
  switch (random.below(6)) {
    case 0:
      return ClaimReleased{resource, claim, Id128{}};
    case 1:
      return ClaimRevoked{resource, claim, ""};
    case 2:
      return FenceRaised{resource, Epoch(random.between(1, 3))};
    default:
      return ClaimAcquired{
          resource, epoch,  some.epoch != Epoch() && some.epoch < epoch ? std::optional(some) : std::nullopt,
          {},       10'000, Id128{},
          Serial(1)};
  }
}

void write_claim_event(Universe& universe, StreamWriter& writer, RandomSource& random) {
  Draft draft = draft_of(claim_event(universe, random));
  writer.witness(Lamport(6));
  SealedEvent e =
      writer.write(std::move(draft.kind), std::move(draft.body), random.between(1, kMaxLamportStep));
  const Result<std::optional<ClaimEvent>> said = read_claim_event(e.event);
  REQUIRE(said);
  if (const auto* acquired = std::get_if<ClaimAcquired>(&**said); acquired != nullptr)
    universe.tokens.push_back(token_of(e.event, *acquired));
  universe.events.push_back(std::move(e));
}

// A stream whose author forks it up to three ways.
void write_forked(Universe& universe, StreamWriter writer, RandomSource& random) {
  const std::size_t shared = random.between(1, 3);
  for (SealedEvent& e : writer.write_all(shared))
    universe.events.push_back(std::move(e));
  if (random.chance(50)) write_claim_event(universe, writer, random);
  universe.least_fork[writer.stream()] = writer.next_seq();
  StreamWriter side = writer;
  if (random.chance(50)) write_claim_event(universe, writer, random);
  if (random.chance(50)) write_claim_event(universe, side, random);
  for (SealedEvent& e : writer.write_all(random.between(1, 3), "a"))
    universe.events.push_back(std::move(e));
  for (SealedEvent& e : side.write_all(random.between(1, 3), "b"))
    universe.events.push_back(std::move(e));
  if (!random.chance(50)) return;
  StreamWriter later = side;  // the second side forks again
  for (SealedEvent& e : side.write_all(1, "c"))
    universe.events.push_back(std::move(e));
  for (SealedEvent& e : later.write_all(1, "d"))
    universe.events.push_back(std::move(e));
}

Universe make_universe(RandomSource& random) {
  Universe universe;
  const std::size_t streams = random.between(2, 5);
  for (std::size_t i = 0; i < streams; ++i)
    universe.keys.push_back(wire::SecretKey::generate());
  for (const wire::SecretKey& key : universe.keys) {
    StreamWriter writer(key);
    if (random.chance(40)) {
      write_forked(universe, writer, random);
      continue;
    }
    const std::size_t length = random.between(1, 6);
    universe.events.push_back(writer.write(std::string(kStreamOpened)));
    for (std::size_t n = 1; n < length; ++n)
      write_claim_event(universe, writer, random);
  }
  universe.roster.mesh = "blue";
  for (std::uint32_t number = 1; number <= 2; ++number) {
    Roster::Entry& entry = universe.roster.resources[ResourceNumber(number)];
    entry.floor = Epoch(random.below(2));
    for (const wire::SecretKey& key : universe.keys) {
      if (random.chance(70))
        entry.candidates.push_back(key.public_key());
      else if (random.chance(50))
        entry.former.insert(key.public_key());
    }
  }
  return universe;
}

// What a gateway does with events that reach it: takes what is next, proves the forks that it sees, compacts.
class Replica {
 public:
  // Some follow the snapshot before the first event, some later.
  Replica(const Universe& universe, RandomSource& random) : universe_(&universe) {
    if (random.chance(50)) fold_.judge_by(universe.roster);
  }

  void deliver_all(RandomSource& random) {
    std::vector<const SealedEvent*> order;
    for (const SealedEvent& e : universe_->events)
      order.push_back(&e);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[random.below(i)]);
      for (const SealedEvent* e : order) {
        progress |= deliver(*e);
        if (random.chance(2)) compact();
      }
    }
    fold_.judge_by(universe_->roster);
  }

  void hear(const std::vector<ForkProof>& proofs) {
    for (const ForkProof& proof : proofs)
      fold_.learn(proof);
  }

  const Fold& fold() const { return fold_; }

 private:
  bool deliver(const SealedEvent& e) {
    const Place place = fold_.place(e.event, e.hash);
    if (place == Place::forks) return fold_.learn(proof_with(e));
    if (place != Place::next) return false;
    fold_.add(e.event, e.hash);
    taken_.push_back(&e);
    return true;
  }

  // Of `e` and the event in its place that is known here.
  ForkProof proof_with(const SealedEvent& e) {
    const std::optional<Hash256> known = fold_.hash_at(e.event.stream, e.event.seq);
    REQUIRE(known);
    for (const SealedEvent& other : universe_->events) {
      if (other.hash == *known) return *prove_fork(*header_of(other.sealed), *header_of(e.sealed));
    }
    FAIL("the known event is none that was delivered");
    return {};
  }

  // All streams up to their heads, except for what a fork can still be proven by.
  void compact() {
    std::map<Id128, StreamHead> heads;
    for (const auto& [stream, state] : fold_.streams()) {
      if (universe_->least_fork.contains(stream) || state.fork) return;
      heads[stream] = {state.author, state.head, state.head_hash, state.lamport};
    }
    const Roster roster = fold_.claims().roster();
    fold_ = Fold("blue");
    for (const SealedEvent* e : taken_)
      if (e->event.kind.starts_with("Claim") || e->event.kind == "FenceRaised")
        fold_.recall(e->event, e->hash);
    fold_.start(heads);
    fold_.judge_by(roster);
  }

  const Universe* universe_;
  std::vector<const SealedEvent*> taken_;
  Fold fold_{"blue"};
};

std::size_t orders_each() {
  return std::getenv("NIGHTLY") != nullptr ? 10 * kOrdersEach : kOrdersEach;
}

}  // namespace

TEST_CASE("multi_stream_convergence_proptest: equal events give equal digests in any order") {
  std::size_t forks_met = 0;
  for (std::size_t u = 0; u < kUniverses; ++u) {
    RandomSource random(u);
    const Universe universe = make_universe(random);
    std::optional<Hash256> expected;
    for (std::size_t i = 0; i < orders_each(); ++i) {
      Replica replica(universe, random);
      replica.deliver_all(random);
      for (const auto& [stream, at] : universe.least_fork) {
        const StreamState* state = replica.fold().find(stream);
        REQUIRE(state != nullptr);
        REQUIRE_MESSAGE((state->fork && state->fork->at == at), "universe ", u, " order ", i);
        ++forks_met;
      }
      if (!expected) expected = replica.fold().digest();
      REQUIRE_MESSAGE(replica.fold().digest() == *expected, "universe ", u, " order ", i);
    }
  }
  CHECK(forks_met > kUniverses);
}

TEST_CASE(
    "multi_stream_convergence_proptest: replicas that saw different sides agree once each has told the "
    "other") {
  for (std::size_t u = 0; u < kUniverses; ++u) {
    RandomSource random(u + kUniverses);
    const Universe universe = make_universe(random);
    Replica one(universe, random);
    Replica two(universe, random);
    one.deliver_all(random);
    two.deliver_all(random);
    const std::vector<ForkProof> from_one = one.fold().unannounced();
    one.hear(two.fold().unannounced());
    two.hear(from_one);
    REQUIRE(one.fold().digest() == two.fold().digest());
  }
}

}  // namespace postern::ledger
