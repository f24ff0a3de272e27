// SPDX-License-Identifier: Apache-2.0
// One connection between two gateways, from the first byte on (SPEC 8.2): hellos, Noise IK, the initiator's
// proof that it is live, the responder's consent; then sealed messages. Sans I/O, without a clock: bytes go
// in, and steps with bytes come out. One thread.
//
//   initiator                                   responder
//   hello ------------------------------------>
//         <------------------------------------ hello
//   handshake (e, es, s, ss) ----------------->
//         <------------------------------------ handshake (e, ee, se)
//   sealed confirm --------------------------->          who asks is known to be live
//         <------------------------------------ sealed welcome, or bye
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/bytes.h"
#include "mesh/control_message.h"
#include "mesh/frame.h"
#include "mesh/hello.h"
#include "mesh/members.h"
#include "mesh/noise_handshake.h"
#include "mesh/replay_memory.h"
#include "mesh/sealed_channel.h"

namespace postern::mesh {

// This gateway, as its running process.
struct LinkIdentity {
  std::string mesh;
  NodeId node{};
  Id128 incarnation{};
  StaticKey key;
  ProtocolRange protocols = kProtocols;
};

// All must outlive the sessions.
struct SessionParts {
  const LinkIdentity& identity;
  const Members& members;  // may change between two steps
  ReplayMemory& seen;
  Randomness& randomness;
};

// What came of a step. At most one of these is there beside `output`.
struct SessionStep {
  bool waits = false;                    // nothing to do before more bytes come
  Bytes output;                          // to be sent
  bool asks = false;                     // the initiator is proven; accept() or decline() is due
  bool up = false;                       // the responder took the link
  std::optional<Refusal> refused{};      // the connection is to be closed when the output is sent
  std::optional<Refusal> refused_us{};   // by an unauthenticated hint; the connection ends
  std::optional<ControlMessage> said{};  // pong, bye
  std::optional<Bytes> message{};        // carried
};

class LinkSession {
 public:
  // The side that was connected to.
  explicit LinkSession(SessionParts parts);
  // The side that connects, to `peer`. start() gives its first bytes.
  LinkSession(SessionParts parts, const Member& peer);
  LinkSession(LinkSession&&) = default;

  Bytes start();
  void append(ByteView bytes) { reader_.append(bytes); }
  SessionStep step();

  // The answers to `asks`.
  Bytes accept();
  Bytes say(const ControlMessage& message);
  // What a refusal from outside is told the other side with, as far as the handshake has come.
  Bytes refuse(Refusal refusal);
  Result<Bytes> seal(ByteView message) { return channel_->seal(MessageKind::carried, message); }

  bool is_initiator() const { return side_ == Side::initiator; }
  bool is_up() const { return state_ == State::up; }
  bool has_hello() const { return hello_.has_value(); }
  // Good once has_hello(): of the other side; not proven before asks, or up.
  const Hello& hello() const { return *hello_; }
  // Whom this is with, as far as it is known; proven as hello() is.
  const std::optional<NodeId>& peer() const { return peer_; }
  std::uint16_t protocol() const { return protocol_; }

 private:
  enum class State { hello, first_message, second_message, confirm, verdict, welcome, up, over };

  SessionStep take(const Frame& frame);
  SessionStep take_hello(ByteView body);
  std::optional<Refusal> judge(const Hello& hello) const;
  SessionStep take_first_message(ByteView body);
  SessionStep take_second_message(ByteView body);
  SessionStep take_sealed(ByteView body);
  SessionStep take_control(ByteView payload);
  SessionStep refused(Refusal refusal);
  void begin_handshake(const Member& peer);

  SessionParts parts_;
  Side side_;
  State state_ = State::hello;
  FrameReader reader_;
  Bytes own_hello_;
  Bytes remote_hello_;
  std::optional<Hello> hello_;
  std::optional<NodeId> peer_;
  std::uint16_t protocol_ = 0;
  std::unique_ptr<NoiseHandshake> handshake_;
  std::unique_ptr<SealedChannel> channel_;
};

}  // namespace postern::mesh
