// SPDX-License-Identifier: Apache-2.0
// Frames on a connection's byte stream: kind (u8), length (u16, little-endian), so many bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "core/bytes.h"
#include "mesh/limits.h"
#include "mesh/refusal.h"

namespace postern::mesh {

enum class FrameKind : std::uint8_t {
  hello = 1,
  handshake = 2,
  sealed = 3,
  refusal = 4,  // a Refusal's number, in the clear: a hint to the other side, never acted upon
};

struct Frame {
  FrameKind kind = FrameKind::hello;
  ByteView body;  // good until the next call of the reader
};

Bytes encode_frame(FrameKind kind, ByteView body);

class FrameReader {
 public:
  // Keeps what it is given until it was read. Callers give what one read of a socket brought, then take all
  // frames.
  void append(ByteView bytes);

  // The next whole frame, none when more bytes are needed. Unless `sealed` are awaited, such a frame is given
  // without its body, so that a stranger cannot have it kept. A frame of an unknown kind is malformed; one
  // longer than its kind may be is oversized, told by its head alone.
  struct Next {
    std::optional<Frame> frame;
    std::optional<Refusal> refusal;
  };
  Next next(bool sealed);

 private:
  Bytes bytes_;
  std::size_t begin_ = 0;  // of what was not read yet
};

}  // namespace postern::mesh
