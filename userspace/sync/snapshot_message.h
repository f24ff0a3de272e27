// SPDX-License-Identifier: Apache-2.0
// What gateways say to each other over a link about snapshots (SPEC 9.8): kind (u8), then its fields,
// little-endian.
#pragma once

#include <cstdint>
#include <variant>

#include "authority/bundle.h"
#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "mesh/limits.h"

namespace postern::sync {

inline constexpr std::size_t kSnapshotChunkBytes = std::size_t{256} << 10;
inline constexpr std::uint64_t kMaxSnapshotFileBytes = authority::kMaxBundleBytes;

// The signed file that a gateway serves by.
struct SnapshotOffer {
  Serial serial;
  Hash256 hash{};           // BLAKE2b-256 of the whole file
  std::uint64_t bytes = 0;  // of the file
  friend bool operator==(const SnapshotOffer&, const SnapshotOffer&) = default;
};

// Asks for the chunk that begins at `offset`.
struct SnapshotAsk {
  Hash256 hash{};
  std::uint64_t offset = 0;
  friend bool operator==(const SnapshotAsk&, const SnapshotAsk&) = default;
};

// All chunks of a file are full but the last one. The view is into what was decoded.
struct SnapshotChunk {
  Hash256 hash{};
  std::uint64_t offset = 0;
  ByteView bytes;
};
static_assert(kSnapshotChunkBytes + 64 < mesh::kMaxMessagePayload);

// The file that was asked for is not there any more.
struct SnapshotGone {
  Hash256 hash{};
  friend bool operator==(const SnapshotGone&, const SnapshotGone&) = default;
};

using SnapshotMessage = std::variant<SnapshotOffer, SnapshotAsk, SnapshotChunk, SnapshotGone>;

// Whether a message of a link is one of these.
bool is_snapshot_message(ByteView bytes);

Bytes encode(const SnapshotMessage& message);
// errc::malformed says what is wrong with it. `bytes` must outlive the view of SnapshotChunk.
Result<SnapshotMessage> decode_snapshot_message(ByteView bytes);

}  // namespace postern::sync
