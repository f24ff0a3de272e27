// SPDX-License-Identifier: Apache-2.0
// What sync shows of itself.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/replica.h"

namespace postern::sync {

// How it stands with one gateway; of those that are linked, or were punished.
struct SyncRow {
  std::string gateway;
  bool on = false;              // linked, listened to, and its marks are known
  std::uint64_t events_in = 0;  // that came from it and were new; since the start, as the next
  std::uint64_t events_out = 0;
  std::uint64_t missing = 0;         // events that it says to have and we have not
  std::uint64_t streams_behind = 0;  // of which it lacks events that we have
  std::uint64_t credit_bytes = 0;    // that it takes of us now
  std::uint64_t waiting_bytes = 0;   // that came from it and are not dealt with
  std::uint64_t penalties = 0;
  std::uint64_t penalty_left_ns = 0;
  std::string why;  // of the last penalty
};

// What came of what peers sent, since the start.
struct SyncCounts {
  static constexpr std::size_t kOffers = static_cast<std::size_t>(ledger::Offer::failed) + 1;
  std::array<std::uint64_t, kOffers> offers{};  // by ledger::Offer
  std::uint64_t forged = 0;                     // messages with an event that its author did not sign
  std::uint64_t unread = 0;                     // with one that this version cannot read
  std::uint64_t malformed = 0;                  // messages
  std::uint64_t unknown = 0;                    // messages of a later version
  std::uint64_t overdrawn = 0;                  // more events than there was credit for
  std::uint64_t passed_over = 0;                // messages of gateways that are not listened to
  std::uint64_t skipped = 0;                    // streams that a peer has compacted what we lack of
  std::uint64_t dropped_early = 0;              // for which there was no room
  std::uint64_t stepped = 0;                    // steps over what was compacted away that were taken
  std::uint64_t step_waits = 0;     // that were put off, since others may have what they leave out
  std::uint64_t step_unproven = 0;  // that are not what the stream's author summed up
  std::uint64_t step_dropped = 0;   // for which there was no room

  void count(ledger::Offer came_of) { ++offers[static_cast<std::size_t>(came_of)]; }
};

// All counts, by names that are an interface.
struct SyncCount {
  std::string_view name;
  std::uint64_t value = 0;
};
std::vector<SyncCount> named(const SyncCounts& counts);

}  // namespace postern::sync
