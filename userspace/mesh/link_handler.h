// SPDX-License-Identifier: Apache-2.0
// The two sides that links stand between: the network below, and what links carry above.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/bytes.h"
#include "core/ip.h"
#include "core/strong.h"
#include "mesh/refusal.h"

namespace postern::mesh {

using ConnectionId = Strong<struct ConnectionIdTag, std::uint64_t>;

// What links need of the network. Nothing of it may call back into the links before it returns.
class LinkTransport {
 public:
  virtual ~LinkTransport() = default;
  // Begins to connect. Links::connected() or Links::closed() follows.
  virtual ConnectionId connect(const Endpoint& to) = 0;
  // Links::written() follows, in parts or at once.
  virtual void send(ConnectionId id, Bytes bytes) = 0;
  // Once what was sent is out. Nothing more is to be told of this connection.
  virtual void close(ConnectionId id) = 0;
  // Whether to go on reading.
  virtual void read(ConnectionId id, bool on) = 0;
};

struct PeerLink {
  std::string_view gateway;
  std::uint16_t protocol = 0;  // that both sides know
  Id128 incarnation{};         // of the other process
};

// What links are there for. May call anything of Links.
class LinkHandler {
 public:
  virtual ~LinkHandler() = default;
  virtual void on_up(const PeerLink& peer) = 0;
  virtual void on_message(std::string_view gateway, ByteView message) = 0;
  virtual void on_down(std::string_view gateway, std::string_view why) = 0;
  // The queue towards a gateway that send() found full has room again.
  virtual void on_room(std::string_view /*gateway*/) {}
  // `gateway` is "" for strangers; it is a claim, unless the handshake had come far enough to prove it.
  virtual void on_refused(Refusal /*refusal*/, std::string_view /*address*/, std::string_view /*gateway*/) {}
};

}  // namespace postern::mesh
