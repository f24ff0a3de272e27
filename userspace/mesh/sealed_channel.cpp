// SPDX-License-Identifier: Apache-2.0
#include "mesh/sealed_channel.h"

#include <algorithm>

#include "mesh/frame.h"

namespace postern::mesh {
namespace {

// The head of a chunk.
constexpr std::uint8_t kLastChunk = 1U << 0;
constexpr std::uint8_t kControl = 1U << 1;
constexpr std::uint8_t kHeadBits = kLastChunk | kControl;

SealedChannel::Opened refused(Refusal refusal) {
  return {std::nullopt, refusal};
}

}  // namespace

SealedChannel::SealedChannel(Guarded<NoiseKeys> keys)
    : keys_(std::move(keys)), send_(keys_->send), receive_(keys_->receive) {}

Result<Bytes> SealedChannel::seal(MessageKind kind, ByteView payload) {
  if (sealed_bytes(payload.size()) > kMaxLinkMessage) {
    return fail(errc::link_oversized, "the message has " + std::to_string(sealed_bytes(payload.size())) +
                                          " bytes when sealed, a link takes " +
                                          std::to_string(kMaxLinkMessage));
  }
  Bytes out;
  out.reserve(sealed_bytes(payload.size()) + chunks_of(payload.size()) * kFrameHeadBytes);
  Bytes plain;
  do {
    const ByteView part = payload.first(std::min(payload.size(), kMaxChunkPayload));
    payload = payload.subspan(part.size());
    plain.assign(1, static_cast<std::uint8_t>((payload.empty() ? kLastChunk : 0) |
                                              (kind == MessageKind::control ? kControl : 0)));
    plain.insert(plain.end(), part.begin(), part.end());
    Bytes sealed(plain.size() + kNoiseTagBytes);
    if (Result<> done = send_.seal({}, plain, sealed.data()); !done) return pass_on(std::move(done));
    const Bytes frame = encode_frame(FrameKind::sealed, sealed);
    out.insert(out.end(), frame.begin(), frame.end());
  } while (!payload.empty());
  return out;
}

SealedChannel::Opened SealedChannel::open(ByteView chunk) {
  incoming_sealed_bytes_ += chunk.size();
  if (incoming_sealed_bytes_ > kMaxLinkMessage) return refused(Refusal::oversized);
  if (chunk.size() < kNoiseTagBytes + kChunkHeadBytes) return refused(Refusal::malformed);
  Bytes plain(chunk.size() - kNoiseTagBytes);
  if (const Result<> opened = receive_.open({}, chunk, plain.data()); !opened)
    return refused(Refusal::signature);
  const std::uint8_t head = plain[0];
  const bool last = (head & kLastChunk) != 0;
  const MessageKind kind = (head & kControl) != 0 ? MessageKind::control : MessageKind::carried;
  const bool goes_on = !incoming_kind_ || *incoming_kind_ == kind;
  if ((head & ~kHeadBits) != 0 || !goes_on || (!last && chunk.size() != kMaxNoiseMessage))
    return refused(Refusal::malformed);
  incoming_kind_ = kind;
  incoming_.insert(incoming_.end(), plain.begin() + kChunkHeadBytes, plain.end());
  if (!last) return {};
  incoming_kind_.reset();
  incoming_sealed_bytes_ = 0;
  Message message{kind, std::move(incoming_)};
  incoming_.clear();
  return {std::move(message), std::nullopt};
}

}  // namespace postern::mesh
