// SPDX-License-Identifier: Apache-2.0
// What each side says of itself before a handshake, in the clear: both hellos are the handshake's prologue,
// so whoever changes one breaks the handshake (SPEC 8.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/bytes.h"
#include "mesh/node_key.h"

namespace postern::mesh {

struct ProtocolRange {
  std::uint16_t lowest = 1;
  std::uint16_t highest = 1;

  friend bool operator==(const ProtocolRange&, const ProtocolRange&) = default;
};

// What this program speaks.
inline constexpr ProtocolRange kProtocols{1, 1};

// The highest version that both know.
std::optional<std::uint16_t> common_protocol(const ProtocolRange& one, const ProtocolRange& other);

struct Hello {
  std::string mesh;
  ProtocolRange protocols;
  NodeId node{};
  Id128 incarnation{};  // of the running process: drawn anew at each start
  Id128 nonce{};        // of this connection: no recorded handshake fits another one

  friend bool operator==(const Hello&, const Hello&) = default;
};

// "postern-link", mesh with its length in front, lowest and highest protocol, node, incarnation, nonce.
// Integers are little-endian.
Bytes encode_hello(const Hello& hello);
// None for what is no hello. Bytes behind the known fields belong to later versions and are passed over.
std::optional<Hello> parse_hello(ByteView bytes);

}  // namespace postern::mesh
