// SPDX-License-Identifier: Apache-2.0
#include "mesh/frame.h"

namespace postern::mesh {

Bytes encode_frame(FrameKind kind, ByteView body) {
  Bytes out(kFrameHeadBytes);
  out[0] = static_cast<std::uint8_t>(kind);
  store_le<std::uint16_t>(out, 1, static_cast<std::uint16_t>(body.size()));
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

void FrameReader::append(ByteView bytes) {
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
  begin_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

FrameReader::Next FrameReader::next(bool sealed) {
  const ByteView rest = ByteView(bytes_).subspan(begin_);
  if (rest.size() < kFrameHeadBytes) return {};
  const std::uint8_t kind = rest[0];
  const auto length = load_le<std::uint16_t>(rest, 1);
  if (kind < static_cast<std::uint8_t>(FrameKind::hello) ||
      kind > static_cast<std::uint8_t>(FrameKind::refusal))
    return {std::nullopt, Refusal::malformed};
  if (length > kMaxPlainFrame && kind != static_cast<std::uint8_t>(FrameKind::sealed))
    return {std::nullopt, Refusal::oversized};
  if (kind == static_cast<std::uint8_t>(FrameKind::sealed) && !sealed)
    return {Frame{FrameKind::sealed, {}}, std::nullopt};
  if (rest.size() < kFrameHeadBytes + length) return {};
  begin_ += kFrameHeadBytes + length;
  return {Frame{static_cast<FrameKind>(kind), rest.subspan(kFrameHeadBytes, length)}, std::nullopt};
}

}  // namespace postern::mesh
