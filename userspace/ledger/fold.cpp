// SPDX-License-Identifier: Apache-2.0
#include "ledger/fold.h"

#include <algorithm>
#include <tuple>

#include "ledger/event_kinds.h"
#include "wire/hash.h"

namespace postern::ledger {
namespace {

Seq before(Seq seq) {
  return Seq(seq.value - 1);
}

// The fork that counts is the least that is proven. Two of one seq that follow different events have a common
// one further back; until that is proven, too, everybody takes the same of the two.
bool further_back(const ForkPoint& a, const ForkPoint& b) {
  return std::tie(a.at, a.prev) < std::tie(b.at, b.prev);
}

// Whether the author's own words are that these are all events that count behind `known`.
bool sums_up(Skeleton known, std::span<const StepEvent> step) {
  for (const StepEvent& one : step)
    known.add(one.event.kind, one.event.seq, one.hash);
  const Result<Skeleton> said = read_condensed(step.back().event);
  return said && *said == known;
}

}  // namespace

std::string_view place_name(Place place) {
  switch (place) {
    case Place::next:
      return "next";
    case Place::known:
      return "known";
    case Place::ahead:
      return "ahead";
    case Place::compacted:
      return "compacted";
    case Place::forks:
      return "forks";
    case Place::diverges:
      return "diverges";
    case Place::excluded:
      return "excluded";
    case Place::early:
      return "early";
    case Place::foreign:
      return "foreign";
    case Place::malformed:
      return "malformed";
  }
  return "";
}

std::optional<Hash256> Fold::Known::hash_at(Seq seq) const {
  if (seq > state.head || seq < base || seq == Seq()) return std::nullopt;
  if (seq == state.head) return state.head_hash;
  return seq == base ? base_hash : hashes[seq.value - base.value - 1];
}

Fold::Known& Fold::know(const Id128& stream, const wire::PublicKey& author) {
  const auto [at, fresh] = streams_.try_emplace(stream);
  if (fresh) {
    at->second.state.author = author;
    ++by_author_[author];
  }
  digest_.reset();
  return at->second;
}

void Fold::recall(const Event& kept, const Hash256& hash) {
  const auto found = streams_.find(kept.stream);
  if (found != streams_.end()) {
    Known& known = found->second;
    if (known.state.fork && kept.seq >= known.state.fork->at) return claims_.heed(kept);
    if (kept.seq <= known.state.head) known.skeleton.add(kept.kind, kept.seq, hash);
  }
  interpret(kept);
  ++events_;
}

// What a journal holds was judged when it was journaled. The first event that comes by of a stream whose
// beginning is gone follows on that; one behind a hole counts once the hole is filled, or a step leads over
// it: of a step that was cut short nothing counts.
void Fold::resume(const Event& event, const Hash256& hash) {
  Known& known = know(event.stream, event.key);
  if (known.state.fork && event.seq >= known.state.fork->at) return claims_.heed(event);
  if (known.state.head == Seq() && event.seq != Seq(1)) {
    known.base = known.state.head = before(event.seq);
    known.base_hash = known.state.head_hash = event.prev;
  }
  if (event.seq == known.state.head.next() && event.prev == known.state.head_hash) {
    known.ahead.clear();
    return add(event, hash);
  }
  if (event.seq <= known.state.head) return;
  if (event.kind != kStreamCondensed && is_condensable(event.kind)) return;
  if (!known.ahead.empty() && known.ahead.back().event.seq >= event.seq) known.ahead.clear();
  known.ahead.push_back({event, hash});
  if (event.kind != kStreamCondensed) return;
  const std::vector<StepEvent> step = std::exchange(known.ahead, {});
  if (follows(known.state, step) && sums_up(known.skeleton, step)) take_step(step);
}

void Fold::start(const std::map<Id128, StreamHead>& heads) {
  for (const auto& [stream, head] : heads) {
    Known& known = know(stream, head.key);
    lamport_ = std::max(lamport_, head.lamport);
    if (known.state.head >= head.seq) continue;
    known.state.head = known.base = head.seq;
    known.state.head_hash = known.base_hash = head.hash;
    known.state.lamport = head.lamport;
    if (known.state.fork) cut(stream, known);
  }
}

// Of an event that does not follow on the known head.
Place Fold::place_beside(const Known& known, const Event& event, const Hash256& hash) {
  if (event.seq > known.state.head) return Place::ahead;
  if (event.seq <= known.base) {
    return known.hash_at(event.seq) == hash ? Place::known : Place::compacted;
  }
  if (known.hash_at(event.seq) == hash) return Place::known;
  const std::optional<Hash256> predecessor =
      event.seq == Seq(1) ? std::optional(Hash256{}) : known.hash_at(before(event.seq));
  return predecessor == event.prev ? Place::forks : Place::diverges;
}

Place Fold::place(const Event& event, const Hash256& hash) const {
  if (event.mesh != mesh_ || !stream_belongs_to(event.stream, event.key)) return Place::foreign;
  const auto found = streams_.find(event.stream);
  if (found == streams_.end()) {
    if (event.seq != Seq(1)) return Place::ahead;
    if (event.kind != kStreamOpened) return Place::malformed;
    return event.lamport.value > lamport_.value + kMaxLamportStep ? Place::early : Place::next;
  }
  const Known& known = found->second;
  if (event.key != known.state.author) return Place::foreign;
  if (known.state.fork && event.seq >= known.state.fork->at) return Place::excluded;
  if (event.seq != known.state.head.next()) return place_beside(known, event, hash);
  if (event.prev != known.state.head_hash) return Place::diverges;
  if ((event.seq == Seq(1)) != (event.kind == kStreamOpened)) return Place::malformed;
  if (event.lamport <= known.state.lamport) return Place::malformed;
  return event.lamport.value > lamport_.value + kMaxLamportStep ? Place::early : Place::next;
}

void Fold::add(const Event& event, const Hash256& hash) {
  Known& known = know(event.stream, event.key);
  known.state.head = event.seq;
  known.state.head_hash = hash;
  known.state.lamport = event.lamport;
  known.hashes.push_back(hash);
  known.skeleton.add(event.kind, event.seq, hash);
  lamport_ = std::max(lamport_, event.lamport);
  ++events_;
  interpret(event);
}

// ---- steps

std::span<const StepEvent> Fold::news(const StreamState& state, std::span<const StepEvent> step) {
  while (!step.empty() && step.front().event.seq <= state.head)
    step = step.subspan(1);
  return step;
}

// What an author must keep to, as far as it shows: places and clock rise, and neighbours are linked.
bool Fold::follows(const StreamState& state, std::span<const StepEvent> step) {
  Seq seq = state.head;
  Hash256 hash = state.head == Seq() ? Hash256{} : state.head_hash;
  Lamport lamport = state.lamport;
  for (const StepEvent& one : step) {
    const bool next = one.event.seq == seq.next();
    const bool opens = one.event.seq == Seq(1);
    if (one.event.seq <= seq || one.event.lamport <= lamport || one.event.key != state.author) return false;
    if (opens != (one.event.kind == kStreamOpened) || (next && one.event.prev != hash)) return false;
    if (is_condensable(one.event.kind) && &one != &step.back()) return false;
    seq = one.event.seq;
    hash = one.hash;
    lamport = one.event.lamport;
  }
  return !step.empty() && step.back().event.kind == kStreamCondensed;
}

// The clock may be as far on as the events in between could have taken it, a step each.
Place Fold::place_step(std::span<const StepEvent> step) const {
  if (step.empty()) return Place::malformed;
  const Event& last = step.back().event;
  for (const StepEvent& one : step)
    if (one.event.mesh != mesh_ || one.event.stream != last.stream ||
        !stream_belongs_to(one.event.stream, one.event.key))
      return Place::foreign;
  const auto found = streams_.find(last.stream);
  const Known fresh{{last.key, Seq(), {}, Lamport(), std::nullopt}, Seq(), {}, {}, {}, {}, {}, {}};
  const Known& known = found == streams_.end() ? fresh : found->second;
  if (last.key != known.state.author) return Place::foreign;
  if (known.state.fork && last.seq >= known.state.fork->at) return Place::excluded;
  if (last.seq <= known.state.head) return Place::known;
  const std::span<const StepEvent> rest = news(known.state, step);
  if (!follows(known.state, rest)) return Place::malformed;
  if (!sums_up(known.skeleton, rest)) return Place::diverges;
  const std::uint64_t events = last.seq.value - known.state.head.value;
  const bool early =
      last.lamport > lamport_ && (last.lamport.value - lamport_.value - 1) / kMaxLamportStep >= events;
  return early ? Place::early : Place::next;
}

void Fold::take_step(std::span<const StepEvent> step) {
  const Event& last = step.back().event;
  Known& known = know(last.stream, last.key);
  const std::span<const StepEvent> rest = news(known.state, step);
  for (const StepEvent& one : rest)
    known.skeleton.add(one.event.kind, one.event.seq, one.hash);
  known.base = known.state.head = last.seq;
  known.base_hash = known.state.head_hash = step.back().hash;
  known.state.lamport = last.lamport;
  known.hashes.clear();
  lamport_ = std::max(lamport_, last.lamport);
  events_ += rest.size();
  // A fork of this very stream may be among what it tells.
  for (const StepEvent& one : rest)
    interpret(one.event);
}

void Fold::interpret(const Event& event) {
  if (event.kind != kStreamForked) return claims_.add(event);
  const Result<ForkProof> proof = read_fork(event);
  if (!proof) return;
  prove(*proof);
  const auto teller = streams_.find(event.stream);
  const bool counts =
      teller == streams_.end() || !teller->second.state.fork || event.seq < teller->second.state.fork->at;
  Known& forked = streams_.at(proof->stream);
  if (counts && forked.state.fork == ForkPoint{proof->at, proof->prev}) {
    forked.told_by.push_back({event.stream, event.seq});
  }
}

bool Fold::learn(const ForkProof& proof) {
  return prove(proof);
}

bool Fold::prove(const ForkProof& proof) {
  Known& known = know(proof.stream, proof.author);
  const ForkPoint point{proof.at, proof.prev};
  if (known.state.fork && !further_back(point, *known.state.fork)) return false;
  known.state.fork = point;
  known.proof = proof;
  known.told_by.clear();
  cut(proof.stream, known);
  return true;
}

// Takes back what was added at and behind the fork of this stream.
void Fold::cut(const Id128& stream, Known& known) {
  const Seq last = before(known.state.fork->at);
  if (known.state.head > last) {
    events_ -= std::min<std::uint64_t>(events_, known.state.head.value - std::max(last, known.base).value);
    known.state.head_hash = known.hash_at(last).value_or(known.state.fork->prev);
    known.state.head = last;
    if (known.base > last) {
      known.base = last;
      known.base_hash = known.state.head_hash;
    }
    known.hashes.resize(last.value - known.base.value);
  }
  for (auto& [other, told] : streams_) {
    std::erase_if(told.told_by, [&](const EventId& id) { return id.stream == stream && id.seq > last; });
  }
  claims_.cut(stream, last);
}

void Fold::raise_lamport(Lamport lamport) {
  lamport_ = std::max(lamport_, lamport);
}

// A floor is the authority's, so the clock may be as far on as it says.
void Fold::judge_by(Roster roster) {
  for (const auto& [resource, entry] : roster.resources)
    raise_lamport(Lamport(entry.floor.value));
  claims_.judge_by(std::move(roster));
  digest_.reset();
}

const StreamState* Fold::find(const Id128& stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : &found->second.state;
}

std::vector<std::pair<Id128, StreamState>> Fold::streams() const {
  std::vector<std::pair<Id128, StreamState>> out;
  out.reserve(streams_.size());
  for (const auto& [stream, known] : streams_)
    out.emplace_back(stream, known.state);
  return out;
}

std::size_t Fold::streams_of(const wire::PublicKey& author) const {
  const auto found = by_author_.find(author);
  return found == by_author_.end() ? 0 : found->second;
}

std::optional<Hash256> Fold::hash_at(const Id128& stream, Seq seq) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? std::nullopt : found->second.hash_at(seq);
}

Seq Fold::first_known(const Id128& stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? Seq(1) : found->second.base.next();
}

std::vector<ForkProof> Fold::unannounced() const {
  std::vector<ForkProof> out;
  for (const auto& [stream, known] : streams_) {
    if (known.proof && known.told_by.empty()) out.push_back(*known.proof);
  }
  return out;
}

std::optional<ForkProof> Fold::fork_of(const Id128& stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? std::nullopt : found->second.proof;
}

Hash256 Fold::digest() const {
  if (digest_) return *digest_;
  Bytes text;
  text.reserve(streams_.size() * (sizeof(Id128) + 2 * (sizeof(Seq) + sizeof(Hash256))));
  const auto put = [&](ByteView bytes) { text.insert(text.end(), bytes.begin(), bytes.end()); };
  const auto put_seq = [&](Seq seq) {
    std::array<std::uint8_t, sizeof(seq.value)> bytes{};
    store_le(bytes, 0, seq.value);
    put(bytes);
  };
  for (const auto& [stream, known] : streams_) {
    const ForkPoint fork = known.state.fork.value_or(ForkPoint{});
    put(stream);
    put_seq(known.state.head);
    put(known.state.head_hash);
    put_seq(fork.at);
    put(fork.prev);
  }
  claims_.digest_into(text);
  digest_ = wire::blake2b({text});
  return *digest_;
}

}  // namespace postern::ledger
