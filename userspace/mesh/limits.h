// SPDX-License-Identifier: Apache-2.0
// Sizes, numbers and times of links (SPEC 8.5), and how they hang together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ledger/format.h"

namespace postern::mesh {

// ---- bytes

inline constexpr std::size_t kMaxNoiseMessage = 65'535;  // Noise rev 34, section 3
inline constexpr std::size_t kNoiseTagBytes = 16;
inline constexpr std::size_t kChunkHeadBytes = 1;
inline constexpr std::size_t kMaxChunkPayload = kMaxNoiseMessage - kNoiseTagBytes - kChunkHeadBytes;

// Of one message as it is sent: the sum of its sealed chunks.
inline constexpr std::size_t kMaxLinkMessage = std::size_t{900} << 10;

constexpr std::size_t chunks_of(std::size_t payload_bytes) {
  return std::max<std::size_t>(1, (payload_bytes + kMaxChunkPayload - 1) / kMaxChunkPayload);
}
constexpr std::size_t sealed_bytes(std::size_t payload_bytes) {
  return payload_bytes + chunks_of(payload_bytes) * (kChunkHeadBytes + kNoiseTagBytes);
}

// The largest message that a link takes, before it is sealed.
inline constexpr std::size_t kMaxMessagePayload = kMaxLinkMessage - (kMaxLinkMessage + kMaxNoiseMessage - 1) /
                                                                        kMaxNoiseMessage *
                                                                        (kChunkHeadBytes + kNoiseTagBytes);
static_assert(sealed_bytes(kMaxMessagePayload) == kMaxLinkMessage);
static_assert(sealed_bytes(kMaxMessagePayload + 1) > kMaxLinkMessage);
static_assert(ledger::kMaxEventBytes * 4 < kMaxMessagePayload, "each round has room for events");

inline constexpr std::size_t kFrameHeadBytes = 3;
// Of hellos, handshakes and refusals: all that is read of a stranger.
inline constexpr std::size_t kMaxPlainFrame = 512;
static_assert(kMaxPlainFrame < kMaxNoiseMessage);

// Sealed but not yet taken by the network, of one link: two of the largest messages with the heads of their
// frames.
inline constexpr std::size_t kMaxQueuedBytes = 2 * (kMaxLinkMessage + 4096);
static_assert(chunks_of(kMaxMessagePayload) * kFrameHeadBytes < 4096);

// ---- numbers

inline constexpr std::size_t kMaxGateways = 1024;
// Connections that others opened and that are not up yet: of strangers' addresses together, of one address.
inline constexpr std::size_t kMaxHalfOpen = 64;
inline constexpr std::size_t kMaxHalfOpenOfAddress = 4;
static_assert(kMaxHalfOpenOfAddress < kMaxHalfOpen);
inline constexpr std::size_t kMaxDialing = 32;  // own attempts at a time
// First messages of strangers' addresses that are worth two scalar multiplications, a second.
inline constexpr std::uint64_t kHandshakesPerSecond = 50;

// ---- times

inline constexpr std::uint64_t kMillisecond_ns = 1'000'000;
inline constexpr std::uint64_t kSecond_ns = 1'000 * kMillisecond_ns;
inline constexpr std::uint64_t kHandshakeTimeout_ns = 5 * kSecond_ns;  // from the first byte to a link
inline constexpr std::uint64_t kPingInterval_ns = 2 * kSecond_ns;
inline constexpr std::uint64_t kSilence_ns = 7 * kSecond_ns;  // without a message the peer is gone
static_assert(kSilence_ns > 3 * kPingInterval_ns);
inline constexpr std::uint64_t kFirstBackoff_ns = 250 * kMillisecond_ns;
inline constexpr std::uint64_t kLastBackoff_ns = 30 * kSecond_ns;
// A link that stood so long starts the backoff anew.
inline constexpr std::uint64_t kStable_ns = 10 * kSecond_ns;

}  // namespace postern::mesh
