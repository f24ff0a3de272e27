// SPDX-License-Identifier: Apache-2.0
// What a set of authenticated events adds up to (SPEC 5.4). Two gateways that hold the same events have the
// same state, whatever the order, duplication and path by which they came, and show it by equal digests.
//
// A stream's events are hash-linked, so its state is a prefix: where it ends, and the hash there. Two events
// that follow the same one prove a fork. From the least proven fork on the whole stream counts for nothing,
// whichever side came first: keeping the first copy would give each gateway a state of its own. What was
// added behind a fork that is proven later is taken back. A fork stays proven when the stream that told of it
// turns out to be forked itself; then somebody has to tell of it again (unannounced()), or a gateway that
// never saw the telling would not know.
//
// Everything is judged by its own stream and by proofs alone, never by the order of arrival. An event costs
// its own work, a digest one pass over the streams that changed nothing about others.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "core/ids.h"
#include "ledger/base.h"
#include "ledger/claim_fold.h"
#include "ledger/event.h"
#include "ledger/fork_proof.h"
#include "ledger/skeleton.h"

namespace postern::ledger {

// A lamport further than this ahead of everything known could use up the clock in a few steps.
inline constexpr std::uint64_t kMaxLamportStep = std::uint64_t{1} << 20;

// Where an event belongs.
enum class Place {
  next,       // add() takes it
  known,      // it is there
  ahead,      // events of its stream before it are missing
  compacted,  // before the first event that is known one by one: it cannot be compared any more
  forks,      // another event than the known one after the same predecessor: a proof
  diverges,   // its predecessor is not the one that is known: the fork lies further back. Of a step: not what
              // its author summed up
  excluded,   // at or behind a proven fork
  early,      // its lamport is too far ahead of everything known: to be tried again when more is known
  foreign,    // its stream is not its author's, or of another mesh
  malformed,  // breaks a rule that its author had to keep: nobody takes it
};

std::string_view place_name(Place place);

struct ForkPoint {
  Seq at;
  Hash256 prev{};

  friend bool operator==(const ForkPoint&, const ForkPoint&) = default;
};

// An event with its hash, of a step (SPEC 5.7): the events of a stream that are kept for good, from the known
// head on, and at last a StreamCondensed that says that these are all.
struct StepEvent {
  Event event;
  Hash256 hash{};
};

// One stream, as far as it counts.
struct StreamState {
  wire::PublicKey author;
  Seq head;  // 0: nothing but its fork is known
  Hash256 head_hash{};
  Lamport lamport;  // of the event at `head`
  std::optional<ForkPoint> fork;
};

class Fold {
 public:
  explicit Fold(std::string mesh) : mesh_(std::move(mesh)) {}
  const std::string& mesh() const { return mesh_; }

  // Of a start: first the heads of the base, if there is one; then the journal's events in order, those that
  // the base kept and the others.
  void start(const std::map<Id128, StreamHead>& heads);
  void recall(const Event& kept, const Hash256& hash);
  void resume(const Event& event, const Hash256& hash);

  // `hash` is event_hash() of the sealed event, whose signature was verified.
  Place place(const Event& event, const Hash256& hash) const;
  // Precondition: place() is `next`. An event of a known kind whose body is not what it must be counts as one
  // without effect.
  void add(const Event& event, const Hash256& hash);
  // Whether a step leads on from where the stream ends here. Events that are known already are passed over.
  Place place_step(std::span<const StepEvent> step) const;
  // Precondition: place_step() is `next`.
  void take_step(std::span<const StepEvent> step);
  // A fork that was found otherwise than by an event. False: nothing new.
  bool learn(const ForkProof& proof);
  // Nothing is too early up to a step above `lamport`: floors and fences raise the clock.
  void raise_lamport(Lamport lamport);
  // Who may claim what, as the snapshot in force has it.
  void judge_by(Roster roster);
  const ClaimFold& claims() const { return claims_; }
  ClaimFold& claims() { return claims_; }

  // Null for one that was never heard of. Valid until the next change.
  const StreamState* find(const Id128& stream) const;
  // Ascending by id.
  std::vector<std::pair<Id128, StreamState>> streams() const;
  std::size_t stream_count() const { return streams_.size(); }
  std::size_t streams_of(const wire::PublicKey& author) const;
  // Hash of the event at `seq`, if it is known one by one and counts.
  std::optional<Hash256> hash_at(const Id128& stream, Seq seq) const;
  // The first seq that is known one by one.
  Seq first_known(const Id128& stream) const;
  // Proofs that no event which counts tells of.
  std::vector<ForkProof> unannounced() const;
  std::optional<ForkProof> fork_of(const Id128& stream) const;

  // The highest of all that was ever added.
  Lamport lamport() const { return lamport_; }
  std::uint64_t events() const { return events_; }
  // BLAKE2b-256 over each stream's id, head and fork, and what the claims add up to. Equal on gateways that
  // hold the same events and follow the same snapshot.
  Hash256 digest() const;

 private:
  struct Known {
    StreamState state;
    Seq base;  // events up to here are known by the last one's hash alone
    Hash256 base_hash{};
    std::vector<Hash256> hashes;   // of those after it
    Skeleton skeleton;             // of those up to the head
    std::vector<StepEvent> ahead;  // while a start reads: a step that is not whole yet
    std::optional<ForkProof> proof;
    std::vector<EventId> told_by;  // events that count and prove the fork at this very point

    std::optional<Hash256> hash_at(Seq seq) const;
  };

  Known& know(const Id128& stream, const wire::PublicKey& author);
  static std::span<const StepEvent> news(const StreamState& state, std::span<const StepEvent> step);
  static bool follows(const StreamState& state, std::span<const StepEvent> step);
  static Place place_beside(const Known& known, const Event& event, const Hash256& hash);
  bool prove(const ForkProof& proof);
  void interpret(const Event& event);
  void cut(const Id128& stream, Known& known);

  std::string mesh_;
  std::map<Id128, Known> streams_;
  std::map<wire::PublicKey, std::size_t> by_author_;
  ClaimFold claims_;
  Lamport lamport_;
  std::uint64_t events_ = 0;
  mutable std::optional<Hash256> digest_;
};

}  // namespace postern::ledger
