// SPDX-License-Identifier: Apache-2.0
#include "mesh/control_message.h"

namespace postern::mesh {
namespace {

constexpr std::size_t kTokenBytes = 8;

std::size_t size_of(ControlKind kind) {
  switch (kind) {
    case ControlKind::ping:
    case ControlKind::pong:
      return 1 + kTokenBytes;
    case ControlKind::bye:
      return 3;
    default:
      return 1;
  }
}

}  // namespace

Bytes encode_control_message(const ControlMessage& message) {
  Bytes out(size_of(message.kind));
  out[0] = static_cast<std::uint8_t>(message.kind);
  if (message.kind == ControlKind::ping || message.kind == ControlKind::pong) {
    store_le<std::uint64_t>(out, 1, message.token);
  } else if (message.kind == ControlKind::bye) {
    out[1] = static_cast<std::uint8_t>(message.bye);
    out[2] = message.refusal ? static_cast<std::uint8_t>(*message.refusal) : 0;
  }
  return out;
}

ParsedControl parse_control_message(ByteView bytes) {
  if (bytes.empty() || bytes[0] == 0) return {};
  if (bytes[0] > static_cast<std::uint8_t>(ControlKind::pong)) return {std::nullopt, true};
  ControlMessage out;
  out.kind = static_cast<ControlKind>(bytes[0]);
  if (bytes.size() != size_of(out.kind)) return {};
  if (out.kind == ControlKind::ping || out.kind == ControlKind::pong) {
    out.token = load_le<std::uint64_t>(bytes, 1);
  } else if (out.kind == ControlKind::bye) {
    if (bytes[1] < static_cast<std::uint8_t>(Bye::duplicate) ||
        bytes[1] > static_cast<std::uint8_t>(Bye::superseded))
      return {};
    out.bye = static_cast<Bye>(bytes[1]);
    out.refusal = refusal_of(bytes[2]);
  }
  return {out, false};
}

}  // namespace postern::mesh
