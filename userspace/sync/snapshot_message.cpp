// SPDX-License-Identifier: Apache-2.0
#include "sync/snapshot_message.h"

#include <string>

#include "core/byte_stream.h"
#include "sync/errors.h"

namespace postern::sync {
namespace {

enum class Kind : std::uint8_t { offer = 24, ask, chunk, gone };

ByteWriter writer(Kind kind, const Hash256& hash) {
  ByteWriter out;
  out.put(static_cast<std::uint8_t>(kind));
  out.put_bytes(hash);
  return out;
}

Bytes write(const SnapshotOffer& offer) {
  ByteWriter out = writer(Kind::offer, offer.hash);
  out.put(offer.serial.value);
  out.put(offer.bytes);
  return out.take();
}

Bytes write(const SnapshotAsk& ask) {
  ByteWriter out = writer(Kind::ask, ask.hash);
  out.put(ask.offset);
  return out.take();
}

Bytes write(const SnapshotChunk& chunk) {
  ByteWriter out = writer(Kind::chunk, chunk.hash);
  out.put(chunk.offset);
  out.put_bytes(chunk.bytes);
  return out.take();
}

Bytes write(const SnapshotGone& gone) {
  return writer(Kind::gone, gone.hash).take();
}

SnapshotMessage read(Kind kind, ByteReader& in) {
  const auto hash = in.array<32>();
  switch (kind) {
    case Kind::offer: {
      SnapshotOffer offer{Serial(in.number<std::uint64_t>()), hash, 0};
      offer.bytes = in.number<std::uint64_t>();
      return offer;
    }
    case Kind::ask:
      return SnapshotAsk{hash, in.number<std::uint64_t>()};
    case Kind::chunk: {
      SnapshotChunk chunk{hash, in.number<std::uint64_t>(), {}};
      return chunk;
    }
    case Kind::gone:
      break;
  }
  return SnapshotGone{hash};
}

}  // namespace

bool is_snapshot_message(ByteView bytes) {
  return !bytes.empty() && bytes[0] >= static_cast<std::uint8_t>(Kind::offer) &&
         bytes[0] <= static_cast<std::uint8_t>(Kind::gone);
}

Bytes encode(const SnapshotMessage& message) {
  return std::visit([](const auto& said) { return write(said); }, message);
}

Result<SnapshotMessage> decode_snapshot_message(ByteView bytes) {
  if (!is_snapshot_message(bytes)) return fail(errc::malformed, "no message about snapshots");
  ByteReader in(bytes.subspan(1));
  SnapshotMessage out = read(static_cast<Kind>(bytes[0]), in);
  if (auto* chunk = std::get_if<SnapshotChunk>(&out); chunk != nullptr && in.ok()) {
    chunk->bytes = bytes.subspan(1 + 32 + 8);
    if (!chunk->bytes.empty() && chunk->bytes.size() <= kSnapshotChunkBytes) return out;
    return fail(errc::malformed, "snapshot chunk of " + std::to_string(chunk->bytes.size()) +
                                     " bytes, expected 1 to " + std::to_string(kSnapshotChunkBytes));
  }
  if (!in.ok() || !in.at_end()) return fail(errc::malformed, "message about snapshots of another size");
  const auto* const offer = std::get_if<SnapshotOffer>(&out);
  if (offer != nullptr && (offer->bytes == 0 || offer->bytes > kMaxSnapshotFileBytes))
    return fail(errc::malformed, "offer of a snapshot of " + std::to_string(offer->bytes) +
                                     " bytes, expected 1 to " + std::to_string(kMaxSnapshotFileBytes));
  const auto* const ask = std::get_if<SnapshotAsk>(&out);
  if (ask != nullptr && (ask->offset % kSnapshotChunkBytes != 0 || ask->offset > kMaxSnapshotFileBytes))
    return fail(errc::malformed, "asks for the middle of a chunk");
  return out;
}

}  // namespace postern::sync
