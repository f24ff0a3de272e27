// SPDX-License-Identifier: Apache-2.0
// Messages under the keys of a finished handshake: cut into chunks of Noise's size, sealed one by one
// (SPEC 8.5). A chunk is a head (u8) and payload; all chunks of a message but the last are full.
#pragma once

#include <optional>
#include <string>

#include "core/bytes.h"
#include "core/result.h"
#include "mesh/guarded.h"
#include "mesh/limits.h"
#include "mesh/noise_handshake.h"
#include "mesh/refusal.h"

namespace postern::mesh {

enum class MessageKind : std::uint8_t {
  carried = 0,  // what the link is there for
  control = 1,  // between the two ends of the link
};

struct Message {
  MessageKind kind = MessageKind::carried;
  Bytes payload;
};

class SealedChannel {
 public:
  explicit SealedChannel(Guarded<NoiseKeys> keys);

  // The frames of one message, one after another. Fails with errc::link_oversized above kMaxLinkMessage, and
  // with errc::noise_nonce_exhausted.
  Result<Bytes> seal(MessageKind kind, ByteView payload);

  // Takes the body of one sealed frame. Gives the message that it completes, if any.
  struct Opened {
    std::optional<Message> message;
    std::optional<Refusal> refusal;
  };
  Opened open(ByteView chunk);

 private:
  Guarded<NoiseKeys> keys_;
  NoiseCipher send_;
  NoiseCipher receive_;
  // The message of which not all chunks came yet.
  Bytes incoming_;
  std::size_t incoming_sealed_bytes_ = 0;
  std::optional<MessageKind> incoming_kind_;
};

}  // namespace postern::mesh
