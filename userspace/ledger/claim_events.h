// SPDX-License-Identifier: Apache-2.0
// The events by which gateways take turns to own a resource (SPEC 10.1), as types; claim_fold.h says what
// they add up to.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/bytes.h"
#include "core/ids.h"
#include "ledger/event.h"
#include "ledger/stream.h"

namespace postern::ledger {

// Orders all claims of a resource, on every gateway alike: the epoch first, then bytes that nobody chose. The
// event that it names is the claim itself.
struct Token {
  Epoch epoch;
  Id128 tie{};  // BLAKE2b over mesh, resource, epoch, the author's event before and its key; cut to 16 bytes
  EventId claim;

  friend auto operator<=>(const Token&, const Token&) = default;  // NOLINT(modernize-use-nullptr)
};

// Takes the resource. {"epoch","prior":token|null,"prior_end":event|null,"resource","serial","session",
// "ttl_ms"}; a token is {"epoch","seq","stream","tie"}, an event {"seq","stream"}.
struct ClaimAcquired {
  ResourceNumber resource;
  Epoch epoch;
  std::optional<Token> prior;        // the highest that its author knew
  std::optional<EventId> prior_end;  // what ended that one; none: it was taken over
  std::uint32_t ttl_ms = 0;
  Id128 session{};  // who may release it: the author, while it remembers this
  Serial serial;    // of the snapshot that its author followed
};

// Gives it back. {"claim":event,"resource","session"}
struct ClaimReleased {
  ResourceNumber resource;
  EventId claim;
  Id128 session{};
};

// Takes it away: on the authority's word, a signed revocation (authority/revocation.h), or by the claim's own
// node without one. {"claim":event,"document":text|null,"resource"}
struct ClaimRevoked {
  ResourceNumber resource;
  EventId claim;
  std::string document;
};

// No claim up to this epoch counts any more. {"epoch","resource"}
struct FenceRaised {
  ResourceNumber resource;
  Epoch epoch;
};

// Two owners were admitted apart from each other. {"claim":token,"kind","resource","rival":token}
enum class ConflictKind {
  collision,  // the rival's author did not know of the claim
  takeover,   // it did, and took it for dead
};
struct ConflictAnnounced {
  ResourceNumber resource;
  ConflictKind kind = ConflictKind::collision;
  Token claim;  // the one that lost
  Token rival;
};

using ClaimEvent = std::variant<ClaimAcquired, ClaimReleased, ClaimRevoked, FenceRaised, ConflictAnnounced>;

inline constexpr std::uint32_t kMinClaimTtl_ms = 8'000;
inline constexpr std::uint32_t kMaxClaimTtl_ms = 60'000;

Draft draft_of(const ClaimEvent& event);
std::string_view word_of(ConflictKind kind);

// Nothing for events of other kinds. Fails with errc::event_invalid on a malformed body, and where an epoch
// is above the event's lamport: nobody can jump (SPEC 10.2).
Result<std::optional<ClaimEvent>> read_claim_event(const Event& event);

// The token of an acquire.
Token token_of(const Event& event, const ClaimAcquired& acquired);

}  // namespace postern::ledger
