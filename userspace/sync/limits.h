// SPDX-License-Identifier: Apache-2.0
// Sizes, numbers and times of sync (SPEC 9.4), and how they hang together with those of links and journal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ledger/format.h"
#include "ledger/replica.h"
#include "mesh/limits.h"

namespace postern::sync {

// ---- messages

inline constexpr std::size_t kMarkBytes = 16 + 8 + 32 + 8;
inline constexpr std::size_t kMarksHeadBytes = 1 + 1 + 2 * 16;
inline constexpr std::size_t kMaxMarksBytes = kMarksHeadBytes + ledger::kMaxStreams * kMarkBytes;

inline constexpr std::size_t kMarksPerRange = 64;
inline constexpr std::size_t kMaxRanges = (ledger::kMaxStreams + kMarksPerRange - 1) / kMarksPerRange;
inline constexpr std::size_t kRangeBytes = 16 + 4 + 16;

inline constexpr std::size_t kEventsHeadBytes = 1 + 4 + 16 + 8;
inline constexpr std::size_t kEventHeadBytes = 2;
inline constexpr std::size_t kStepHeadBytes = 1 + 4 + 16 + 8 + 1;
// A stream's turn: then another stream's events go out.
inline constexpr std::size_t kTurnBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxEventsBytes = kEventsHeadBytes + kTurnBytes;
static_assert(kStepHeadBytes + kEventHeadBytes + ledger::kMaxEventBytes <= kMaxEventsBytes);
static_assert(kEventHeadBytes + ledger::kMaxEventBytes <= kTurnBytes, "a turn gives at least one event");
static_assert(ledger::kMaxEventBytes <= UINT16_MAX);
// No signed envelope is smaller; so nobody can make us hold a great many tiny ones.
inline constexpr std::size_t kMinEventBytes = 256;

// ---- rounds

// What one round may send to a peer, sealed. Marks take a quarter of it at most, unless a single range is
// larger; so events or ranges move in each round, however many streams there are.
inline constexpr std::size_t kRoundBytes = mesh::kMaxLinkMessage;
inline constexpr std::size_t kRoundMarksBytes = kRoundBytes / 4;
inline constexpr std::size_t kMarksARound = (kRoundMarksBytes - kMarksHeadBytes) / kMarkBytes;
static_assert(kMaxMarksBytes <= mesh::kMaxMessagePayload, "any marks fit a message");
static_assert(mesh::sealed_bytes(kMaxMarksBytes) + mesh::sealed_bytes(kMaxEventsBytes) + 4096 < kRoundBytes,
              "with the largest marks a round still gives a turn of events");
static_assert(kMaxRanges * kRangeBytes < kRoundMarksBytes);
static_assert(kMarksPerRange <= kMarksARound);
inline constexpr std::size_t kNotesARound = 64;  // own wants and skips
// What a peer asks for may stand anywhere in the journal, so each answer may cost a read of a page.
inline constexpr std::size_t kWantsServedARound = 2;
// Rounds follow on what comes; more than these wait for the tick. So nobody can keep the loop busy with one
// peer.
inline constexpr unsigned kRoundsATick = 4;

// ---- memory

// Events that a peer may send before what it sent is dealt with; less each when many peers are linked.
inline constexpr std::uint64_t kMaxWindowBytes = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kAllWindowsBytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMinWindowBytes = 2 * kMaxEventsBytes;
constexpr std::uint64_t window_bytes(std::size_t peers) {
  return std::clamp<std::uint64_t>(kAllWindowsBytes / std::max<std::size_t>(peers, 1), kMinWindowBytes,
                                   kMaxWindowBytes);
}
// Of everything but events, which have their credit: more within a tick, and the peer is not read until the
// next one.
inline constexpr std::size_t kControlBytesATick = 2 * mesh::kMaxLinkMessage;
inline constexpr std::size_t kMaxWantsServed = 64;         // of a peer, not yet served
inline constexpr std::size_t kMaxWalks = 64;               // forks looked for with a peer at a time
inline constexpr std::uint64_t kMaxEventsInFlight = 4096;  // handed to the journal, not yet durable
// A step that comes in parts, and all of all peers: more is dropped, and comes again.
inline constexpr std::size_t kMaxStepBytes = 4 * ledger::kStepBytes;
inline constexpr std::size_t kAllStepsBytes = std::size_t{32} << 20;
inline constexpr std::size_t kMaxStepsPutOff = 64;  // of a peer
static_assert(ledger::kStepBytes + ledger::kCondensedBytes + 2 * ledger::kMaxEventBytes < kMaxStepBytes);
inline constexpr std::size_t kMaxEarlyBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxEarlyBytesAnAuthor = std::size_t{128} << 10;
static_assert(ledger::kMaxEventBytes <= kMaxEarlyBytesAnAuthor && kMaxEarlyBytesAnAuthor < kMaxEarlyBytes);

// ---- times

// Events of a third gateway wait so long for their author's own link to bring them.
inline constexpr std::uint64_t kRelayDelay_ns = 300 * mesh::kMillisecond_ns;
// Marks that did not follow on what was sent: it is sent again, one event at a time, each time later.
inline constexpr std::uint64_t kFirstStall_ns = 5 * mesh::kSecond_ns;
inline constexpr std::uint64_t kLastStall_ns = 120 * mesh::kSecond_ns;
inline constexpr std::uint64_t kWalkPatience_ns = 10 * mesh::kSecond_ns;
// What others may still have is not stepped over before they had so long to send it.
inline constexpr std::uint64_t kStepPatience_ns = 4 * mesh::kSecond_ns;
// A peer that sent what no gateway sends is not listened to for so long.
inline constexpr std::uint64_t kFirstPenalty_ns = mesh::kSecond_ns;
inline constexpr std::uint64_t kLastPenalty_ns = 300 * mesh::kSecond_ns;
inline constexpr std::uint64_t kPenaltyMemory_ns = 600 * mesh::kSecond_ns;

}  // namespace postern::sync
