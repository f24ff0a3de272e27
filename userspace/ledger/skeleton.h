// SPDX-License-Identifier: Apache-2.0
// What a stream is without the events that a compaction does away with (SPEC 5.7). Its author sums it up, now
// and then, by a StreamCondensed of its own: how many events before that one are of kinds that are kept for
// good, and a digest over these. So whoever lacks events that nobody holds any more goes past them, on the
// author's word that nothing among them was of a kind that any fold adds up.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/event.h"
#include "ledger/event_kinds.h"

namespace postern::ledger {

// Kinds that a compaction may do away with: the authority's, which nobody folds but their own author, and
// StreamCondensed. The list is part of the protocol: of a later version's kinds none is.
constexpr bool is_condensable(std::string_view kind) {
  if (kind == kStreamCondensed) return true;
  for (const std::string_view known : kAuthorityKinds)
    if (known == kind) return true;
  return false;
}

struct Skeleton {
  std::uint64_t events = 0;
  Hash256 digest{};  // chained over (seq, hash) of each

  // The next event of the stream; one of a condensable kind changes nothing.
  void add(std::string_view kind, Seq seq, const Hash256& hash);

  friend bool operator==(const Skeleton&, const Skeleton&) = default;
};

// {"digest":HEX,"events":N}: the body of a StreamCondensed, of all events of its stream before it; and back.
wire::Json body_of(const Skeleton& skeleton);
Result<Skeleton> read_condensed(const Event& event);

// How often an author sums up: behind so many condensable events, or so many bytes of events.
inline constexpr std::uint64_t kCondensedEvents = 64;
inline constexpr std::size_t kCondensedBytes = std::size_t{256} << 10;
// Of what was summed up a compaction keeps a StreamCondensed at least every so many bytes of kept events; so
// nobody has to take more than about this in one step.
inline constexpr std::size_t kStepBytes = std::size_t{1} << 20;

// An author's own stream: what it has to say in the next StreamCondensed, and whether it is time for it.
struct OwnSkeleton {
  Skeleton skeleton;
  std::uint64_t condensable_since = 0;
  std::size_t bytes_since = 0;

  void add(std::string_view kind, Seq seq, const Hash256& hash, std::size_t bytes);
  bool due() const { return condensable_since >= kCondensedEvents || bytes_since >= kCondensedBytes; }

  friend bool operator==(const OwnSkeleton&, const OwnSkeleton&) = default;
};

}  // namespace postern::ledger
