// SPDX-License-Identifier: Apache-2.0
// What the two ends of a link say to each other, sealed: kind (u8), then its fields (SPEC 8.6).
#pragma once

#include <cstdint>
#include <optional>

#include "core/bytes.h"
#include "mesh/refusal.h"

namespace postern::mesh {

enum class ControlKind : std::uint8_t {
  confirm = 1,  // the initiator has both keys: only now its handshake is proven to be live
  welcome = 2,  // the responder takes the link
  bye = 3,      // why, then a refusal's number or 0
  ping = 4,     // token (u64, little-endian)
  pong = 5,     // the ping's token
};

enum class Bye : std::uint8_t {
  duplicate = 1,  // another connection to the same gateway is kept
  refused = 2,
  stopping = 3,    // the process ends
  superseded = 4,  // by a newer connection of the same gateway
};

struct ControlMessage {
  ControlKind kind = ControlKind::ping;
  std::uint64_t token = 0;           // ping, pong
  Bye bye = Bye::stopping;           // bye
  std::optional<Refusal> refusal{};  // bye, refused

  friend bool operator==(const ControlMessage&, const ControlMessage&) = default;
};

Bytes encode_control_message(const ControlMessage& message);

// None for what is no control message, `unknown` for a kind of a later version.
struct ParsedControl {
  std::optional<ControlMessage> message;
  bool unknown = false;
};
ParsedControl parse_control_message(ByteView bytes);

}  // namespace postern::mesh
