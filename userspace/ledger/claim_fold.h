// SPDX-License-Identifier: Apache-2.0
// What claims add up to: for each resource the tokens that were ever taken, and which one counts (SPEC 10.2).
// A function of the set of events and of the snapshot, whatever the order in which either came; the clock has
// no say. Whether a live claim is still held is the lease's business (claims/), on top of this.
//
// Of all tokens of a resource the top one alone can be live, and only if nothing speaks against it. Every
// other one has lost for good: a holder that comes back under it finds itself in conflict, on every gateway.
// What speaks against a claim is kept apart from it, so a release that comes before its acquire waits for it,
// and a fork that is proven later takes back what stood behind it.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "authority/snapshot.h"
#include "core/ids.h"
#include "ledger/claim_events.h"
#include "ledger/event.h"

namespace postern::ledger {

// In the order in which they outrank each other.
enum class Verdict { revoked, released, below_floor, forked, not_candidate, conflicted, live };
inline constexpr std::size_t kVerdicts = 7;
std::string_view verdict_name(Verdict verdict);

struct Claim {
  ResourceNumber resource;
  Token token;
  wire::PublicKey author;
  std::optional<Token> prior;
  std::optional<EventId> prior_end;
  std::uint32_t ttl_ms = 0;
  Id128 session{};
  Serial serial;
  Lamport lamport;
  std::int64_t at_ms = 0;  // the author's clock, for people
};

// Who may claim, as a snapshot says it.
struct Roster {
  struct Entry {
    std::string id;
    std::vector<wire::PublicKey> candidates;  // in the order of the snapshot: the first is asked first
    std::set<wire::PublicKey> former;
    std::uint32_t ttl_ms = 0;
    Epoch floor;

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::map<ResourceNumber, Entry> resources;
  authority::Root root;  // signs revocations
  std::string mesh;
  Serial serial;

  friend bool operator==(const Roster&, const Roster&) = default;
};
Roster roster_of(const authority::Snapshot& snapshot);

struct Conflict {
  ConflictKind kind = ConflictKind::collision;
  Claim claim;  // the one that lost
  Claim rival;
};

class ClaimFold {
 public:
  // An event that counts. Other kinds, and bodies that are not what they must be, are without effect.
  void add(const Event& event);
  // An event that is known but does not count, being behind a fork: it binds this gateway's fence alone.
  void heed(const Event& event);
  // The events of this stream behind `last` count no more. Its claims are forked.
  void cut(const Id128& stream, Seq last);
  void judge_by(Roster roster);
  const Roster& roster() const { return roster_; }

  // Resources that changed since the last call: their top, a verdict, a floor or a conflict.
  std::set<ResourceNumber> take_changed();

  // The highest token of those that count as one: of a candidate, or a former one. Null for none. Pointers
  // and references are valid until the next change.
  const Claim* top(ResourceNumber resource) const;
  // The claim that holds the resource, as far as events say: the top one, if it is live.
  const Claim* live(ResourceNumber resource) const;
  // The top claim, if its own node has released it and nothing else speaks against it: its holder may serve
  // on until another one does (SPEC 10.5).
  const Claim* released(ResourceNumber resource) const;
  const Claim* find(ResourceNumber resource, const Token& token) const;
  // The highest one of this node.
  const Claim* newest_of(ResourceNumber resource, const wire::PublicKey& node) const;
  Verdict verdict(const Claim& claim) const;
  // The release or revocation that ended it, if one counts.
  std::optional<EventId> end_of(const Claim& claim) const;
  // Ascending by token.
  std::vector<const Claim*> claims_of(ResourceNumber resource) const;
  // Resources of which there is any claim or floor.
  std::vector<ResourceNumber> resources() const;
  // No claim up to this epoch counts: the snapshot's floor, or an event's.
  Epoch floor(ResourceNumber resource) const;
  // The highest epoch that was ever accepted here, behind forks too: the kernel never accepts a lower one.
  Epoch fence(ResourceNumber resource) const;

  // The highest that any event names, whoever may claim: the kernel was told of none above it but by the
  // authority.
  Epoch highest(ResourceNumber resource) const;

  std::vector<Conflict> conflicts(ResourceNumber resource) const;
  bool is_announced(ResourceNumber resource, const Token& claim, const wire::PublicKey& by) const;

  // What a digest of the whole fold takes in of this: floors by events, tops and their verdicts.
  void digest_into(Bytes& text) const;

 private:
  // What says that a claim is over.
  struct End {
    EventId claim;
    wire::PublicKey author;
    std::optional<Id128> session;  // of a release; a revocation has none
    std::string document;          // of a revocation
    Epoch covers;                  // up to which the document revokes, if the root vouches for it
  };
  // Who announced that this claim lost.
  struct Told {
    Token claim;
    wire::PublicKey by;
  };
  // An epoch that was accepted here once; of a claim, or of a fence that was raised.
  struct Heeded {
    std::optional<wire::PublicKey> claimant;
    Epoch epoch;
  };
  // Each by the event that it is from, so that a fork can take it back.
  struct Resource {
    std::map<Token, Claim> claims;
    std::map<EventId, End> ends;
    std::map<EventId, std::set<EventId>> ends_of;  // by claim
    std::map<EventId, Epoch> fences;
    std::map<EventId, Told> told;
    std::map<EventId, Heeded> heeded;
  };

  void take(const Event& event, const ClaimEvent& said);
  static bool may_claim(const Roster::Entry& entry, const wire::PublicKey& node);
  const Roster::Entry* entry_of(ResourceNumber resource) const;
  const Resource* known(ResourceNumber resource) const;
  Epoch covered(const End& end, ResourceNumber resource) const;
  Verdict verdict_unless_ended(const Claim& claim) const;
  // A revocation goes before a release, whichever is the earlier event.
  std::optional<std::pair<EventId, Verdict>> end_and_verdict(const Claim& claim) const;

  std::map<ResourceNumber, Resource> resources_;
  std::set<Id128> forked_;
  std::set<ResourceNumber> changed_;
  Roster roster_;
};

}  // namespace postern::ledger
