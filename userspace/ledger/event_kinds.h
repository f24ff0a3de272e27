// SPDX-License-Identifier: Apache-2.0
// The kinds of events: a closed list (SPEC 5.2). One that is not on it comes from a later version: it is kept
// and relayed, not interpreted, unless it is critical.
#pragma once

#include <array>
#include <string_view>

namespace postern::ledger {

inline constexpr std::string_view kStreamOpened = "StreamOpened";
inline constexpr std::string_view kStreamForked = "StreamForked";
inline constexpr std::string_view kStreamCondensed = "StreamCondensed";

inline constexpr std::array<std::string_view, 7> kAuthorityKinds = {
    "AuthorityFloors",   "AuthorityAdopted",     "AuthorityActive", "AuthorityConfirmed",
    "AuthorityReverted", "AuthorityEquivocated", "TimestampSeen",
};

inline constexpr std::string_view kClaimAcquired = "ClaimAcquired";
inline constexpr std::string_view kClaimReleased = "ClaimReleased";
inline constexpr std::string_view kClaimRevoked = "ClaimRevoked";
inline constexpr std::string_view kFenceRaised = "FenceRaised";
inline constexpr std::string_view kConflictAnnounced = "ConflictAnnounced";

inline constexpr std::array<std::string_view, 15> kEventKinds = {
    kStreamOpened,     kStreamForked,        kStreamCondensed,    "AuthorityFloors",      "AuthorityAdopted",
    "AuthorityActive", "AuthorityConfirmed", "AuthorityReverted", "AuthorityEquivocated", "TimestampSeen",
    kClaimAcquired,    kClaimReleased,       kClaimRevoked,       kFenceRaised,           kConflictAnnounced,
};

constexpr bool is_known_kind(std::string_view kind) {
  for (const std::string_view known : kEventKinds)
    if (known == kind) return true;
  return false;
}

}  // namespace postern::ledger
