// SPDX-License-Identifier: Apache-2.0
#include "mesh/link_session.h"

#include <algorithm>

namespace postern::mesh {
namespace {

SessionStep sends(Bytes output) {
  SessionStep step;
  step.output = std::move(output);
  return step;
}

}  // namespace

LinkSession::LinkSession(SessionParts parts) : parts_(parts), side_(Side::responder) {}

LinkSession::LinkSession(SessionParts parts, const Member& peer)
    : parts_(parts), side_(Side::initiator), peer_(peer.node) {}

Bytes LinkSession::start() {
  Hello hello{
      parts_.identity.mesh, parts_.identity.protocols, parts_.identity.node, parts_.identity.incarnation, {}};
  parts_.randomness.fill(hello.nonce);
  own_hello_ = encode_hello(hello);
  return encode_frame(FrameKind::hello, own_hello_);
}

SessionStep LinkSession::step() {
  SessionStep nothing;
  nothing.waits = true;
  if (state_ == State::over || state_ == State::verdict) return nothing;
  const FrameReader::Next next = reader_.next(channel_ != nullptr);
  if (next.refusal) return refused(*next.refusal);
  if (!next.frame) return nothing;
  return take(*next.frame);
}

SessionStep LinkSession::take(const Frame& frame) {
  if (frame.kind == FrameKind::refusal && !channel_) {
    state_ = State::over;
    SessionStep step;
    step.refused_us = frame.body.size() == 1 ? refusal_of(frame.body[0]) : std::nullopt;
    if (!step.refused_us) return refused(Refusal::malformed);
    return step;
  }
  const FrameKind expected = state_ == State::hello ? FrameKind::hello
                             : channel_             ? FrameKind::sealed
                                                    : FrameKind::handshake;
  if (frame.kind != expected)
    return refused(state_ == State::hello && frame.kind == FrameKind::sealed ? Refusal::unknown_link
                                                                             : Refusal::malformed);
  if (state_ == State::hello) return take_hello(frame.body);
  if (state_ == State::first_message) return take_first_message(frame.body);
  if (state_ == State::second_message) return take_second_message(frame.body);
  return take_sealed(frame.body);
}

// The order tells a stranger no more than it knew, and an older gateway why.
std::optional<Refusal> LinkSession::judge(const Hello& hello) const {
  const LinkIdentity& own = parts_.identity;
  if (hello.mesh != own.mesh) return Refusal::mesh_mismatch;
  if (hello.node == own.node) return Refusal::self_link;
  if (parts_.members.find(hello.node) == nullptr || (peer_ && *peer_ != hello.node))
    return Refusal::untrusted;
  if (!common_protocol(own.protocols, hello.protocols)) return Refusal::protocol_unsupported;
  if (parts_.seen.has(hello.nonce)) return Refusal::replay;
  return std::nullopt;
}

SessionStep LinkSession::take_hello(ByteView body) {
  hello_ = parse_hello(body);
  if (!hello_) return refused(Refusal::malformed);
  if (const std::optional<Refusal> refusal = judge(*hello_)) return refused(*refusal);
  const Member& member = *parts_.members.find(hello_->node);
  peer_ = member.node;
  protocol_ = *common_protocol(parts_.identity.protocols, hello_->protocols);
  remote_hello_.assign(body.begin(), body.end());
  Bytes output;
  if (side_ == Side::responder) output = start();
  begin_handshake(member);
  if (side_ == Side::responder) {
    state_ = State::first_message;
    return sends(std::move(output));
  }
  const Result<Bytes> first = handshake_->write({}, parts_.randomness);
  if (!first) return refused(Refusal::signature);
  state_ = State::second_message;
  return sends(encode_frame(FrameKind::handshake, *first));
}

void LinkSession::begin_handshake(const Member& peer) {
  const bool initiator = side_ == Side::initiator;
  Bytes prologue = initiator ? own_hello_ : remote_hello_;
  const Bytes& second = initiator ? remote_hello_ : own_hello_;
  prologue.insert(prologue.end(), second.begin(), second.end());
  handshake_ = std::make_unique<NoiseHandshake>(NoisePattern::ik, side_, prologue, parts_.identity.key,
                                                initiator ? std::optional(peer.key) : std::nullopt);
}

SessionStep LinkSession::take_first_message(ByteView body) {
  if (const Result<Bytes> payload = handshake_->read(body); !payload) {
    return refused(payload.error().code == errc::noise_length ? Refusal::malformed : Refusal::signature);
  }
  const Member* const member = parts_.members.find(*peer_);
  if (member == nullptr || handshake_->remote_static() != member->key) return refused(Refusal::untrusted);
  parts_.seen.remember(hello_->nonce);
  const Result<Bytes> second = handshake_->write({}, parts_.randomness);
  if (!second) return refused(Refusal::signature);
  channel_ = std::make_unique<SealedChannel>(handshake_->split());
  handshake_.reset();
  state_ = State::confirm;
  return sends(encode_frame(FrameKind::handshake, *second));
}

SessionStep LinkSession::take_second_message(ByteView body) {
  if (const Result<Bytes> payload = handshake_->read(body); !payload) {
    return refused(payload.error().code == errc::noise_length ? Refusal::malformed : Refusal::signature);
  }
  channel_ = std::make_unique<SealedChannel>(handshake_->split());
  handshake_.reset();
  state_ = State::welcome;
  return sends(say({.kind = ControlKind::confirm}));
}

SessionStep LinkSession::take_sealed(ByteView body) {
  SealedChannel::Opened opened = channel_->open(body);
  if (opened.refusal) return refused(*opened.refusal);
  if (!opened.message) return {};
  if (opened.message->kind == MessageKind::control) return take_control(opened.message->payload);
  if (state_ != State::up) return refused(Refusal::malformed);
  SessionStep step;
  step.message = std::move(opened.message->payload);
  return step;
}

SessionStep LinkSession::take_control(ByteView payload) {
  const ParsedControl parsed = parse_control_message(payload);
  if (parsed.unknown && state_ == State::up) return {};
  if (!parsed.message) return refused(Refusal::malformed);
  const ControlMessage& said = *parsed.message;
  SessionStep step;
  if (said.kind == ControlKind::bye) {
    state_ = State::over;
    step.said = said;
    return step;
  }
  if (state_ == State::confirm && said.kind == ControlKind::confirm) {
    state_ = State::verdict;
    step.asks = true;
  } else if (state_ == State::welcome && said.kind == ControlKind::welcome) {
    state_ = State::up;
    step.up = true;
  } else if (state_ == State::up && said.kind == ControlKind::ping) {
    step.output = say({.kind = ControlKind::pong, .token = said.token});
  } else if (state_ == State::up && said.kind == ControlKind::pong) {
    step.said = said;
  } else {
    return refused(Refusal::malformed);
  }
  return step;
}

Bytes LinkSession::accept() {
  state_ = State::up;
  return say({.kind = ControlKind::welcome});
}

Bytes LinkSession::say(const ControlMessage& message) {
  if (!channel_) return {};
  // Only a used-up nonce can fail here; then the silence ends the link.
  return channel_->seal(MessageKind::control, encode_control_message(message)).value_or(Bytes{});
}

Bytes LinkSession::refuse(Refusal refusal) {
  state_ = State::over;
  if (channel_) return say({.kind = ControlKind::bye, .bye = Bye::refused, .refusal = refusal});
  const auto number = static_cast<std::uint8_t>(refusal);
  return encode_frame(FrameKind::refusal, ByteView(&number, 1));
}

SessionStep LinkSession::refused(Refusal refusal) {
  SessionStep step;
  step.output = refuse(refusal);
  step.refused = refusal;
  return step;
}

}  // namespace postern::mesh
