// SPDX-License-Identifier: Apache-2.0
#include "mesh/noise_handshake.h"

#include <algorithm>
#include <string>

#include "mesh/limits.h"

namespace postern::mesh {
namespace {

// No longer than the hash, so padded with zeros (section 5.2).
constexpr std::string_view kIkName = "Noise_IK_25519_ChaChaPoly_BLAKE2b";
constexpr std::string_view kXxName = "Noise_XX_25519_ChaChaPoly_BLAKE2b";
static_assert(kIkName.size() <= kNoiseHashBytes && kXxName.size() <= kNoiseHashBytes);

tl::unexpected<Error> cut_short() {
  return fail(errc::noise_length, "a message of the handshake is cut short");
}

}  // namespace

std::span<const NoiseHandshake::Message> NoiseHandshake::messages_of(NoisePattern pattern) {
  using enum Token;
  static constexpr Token kIkFirst[] = {e, es, s, ss};
  static constexpr Token kIkSecond[] = {e, ee, se};
  static constexpr Message kIk[] = {kIkFirst, kIkSecond};
  static constexpr Token kXxFirst[] = {e};
  static constexpr Token kXxSecond[] = {e, ee, s, es};
  static constexpr Token kXxThird[] = {s, se};
  static constexpr Message kXx[] = {kXxFirst, kXxSecond, kXxThird};
  if (pattern == NoisePattern::ik) return kIk;
  return kXx;
}

NoiseHandshake::NoiseHandshake(NoisePattern pattern, Side side, ByteView prologue, const StaticKey& own,
                               std::optional<DhPublic> remote)
    : messages_(messages_of(pattern)),
      side_(side),
      own_(&own),
      secrets_(make_guarded<Secrets>()),
      remote_static_(remote) {
  // A name no longer than the hash is padded with zeros (section 5.2).
  const std::string_view name = pattern == NoisePattern::ik ? kIkName : kXxName;
  std::copy(name.begin(), name.end(), hash_.begin());
  secrets_->chaining_key = hash_;
  mix_hash(prologue);
  if (pattern != NoisePattern::ik) return;
  // IK's pre-message: the responder's static key.
  mix_hash(side == Side::initiator ? remote.value_or(DhPublic{}) : own.public_key);
}

Result<> NoiseHandshake::check_turn(bool writing) const {
  if (!failed_ && !finished() && is_mine() == writing) return {};
  return fail(errc::noise_order, "this message of the handshake is not to be " +
                                     std::string(writing ? "written" : "read") + " now");
}

void NoiseHandshake::mix_key(ByteView input) {
  Wiped<NoiseHash> key;
  noise_hkdf(secrets_->chaining_key, input, secrets_->chaining_key, key.value);
  std::copy_n(key.value.begin(), kNoiseKeyBytes, secrets_->key.begin());
  keyed_ = true;
  nonce_ = 0;
}

Result<> NoiseHandshake::mix_dh(Token token) {
  const bool initiator = side_ == Side::initiator;
  // In a token the first letter is the initiator's key, the second one the responder's.
  const bool own_is_ephemeral = token == Token::ee || token == (initiator ? Token::es : Token::se);
  const bool remote_is_ephemeral = token == Token::ee || token == (initiator ? Token::se : Token::es);
  const std::optional<DhPublic>& remote = remote_is_ephemeral ? remote_ephemeral_ : remote_static_;
  if (!remote)
    return fail(errc::noise_order, "the handshake needs a key of the other side that is not known");
  Wiped<DhSecret> shared;
  Result<> mixed = dh(own_is_ephemeral ? secrets_->ephemeral : *own_->secret, *remote, shared.value);
  if (mixed) mix_key(shared.value);
  return mixed;
}

Result<> NoiseHandshake::append_sealed(ByteView plaintext, Bytes& out) {
  const std::size_t begin = out.size();
  if (!keyed_) {
    out.insert(out.end(), plaintext.begin(), plaintext.end());
  } else {
    out.resize(begin + plaintext.size() + kNoiseTagBytes);
    NoiseCipher cipher(secrets_->key, nonce_);
    if (Result<> sealed = cipher.seal(hash_, plaintext, out.data() + begin); !sealed) return sealed;
    nonce_ = cipher.nonce();
  }
  mix_hash(ByteView(out).subspan(begin));
  return {};
}

Result<Bytes> NoiseHandshake::open_sealed(ByteView sealed) {
  Bytes out(sealed.begin(), sealed.end());
  if (keyed_) {
    if (sealed.size() < kNoiseTagBytes) return cut_short();
    out.resize(sealed.size() - kNoiseTagBytes);
    NoiseCipher cipher(secrets_->key, nonce_);
    if (Result<> opened = cipher.open(hash_, sealed, out.data()); !opened) return pass_on(std::move(opened));
    nonce_ = cipher.nonce();
  }
  mix_hash(sealed);
  return out;
}

Result<> NoiseHandshake::write_token(Token token, Bytes& out, Randomness& randomness) {
  if (token == Token::s) return append_sealed(own_->public_key, out);
  if (token != Token::e) return mix_dh(token);
  randomness.fill(secrets_->ephemeral);
  own_ephemeral_ = dh_public(secrets_->ephemeral);
  out.insert(out.end(), own_ephemeral_.begin(), own_ephemeral_.end());
  mix_hash(own_ephemeral_);
  return {};
}

Result<> NoiseHandshake::read_token(Token token, ByteView& rest) {
  if (token != Token::e && token != Token::s) return mix_dh(token);
  DhPublic key{};
  const std::size_t size = key.size() + (token == Token::s && keyed_ ? kNoiseTagBytes : 0);
  if (rest.size() < size) return cut_short();
  const ByteView sent = rest.first(size);
  rest = rest.subspan(size);
  if (token == Token::e) {
    std::copy(sent.begin(), sent.end(), key.begin());
    mix_hash(sent);
    remote_ephemeral_ = key;
    return {};
  }
  const Result<Bytes> opened = open_sealed(sent);
  if (!opened) return tl::unexpected<Error>(opened.error());
  std::copy(opened->begin(), opened->end(), key.begin());
  remote_static_ = key;
  return {};
}

Result<Bytes> NoiseHandshake::write(ByteView payload, Randomness& randomness) {
  if (Result<> turn = check_turn(true); !turn) return pass_on(std::move(turn));
  failed_ = true;  // until all of it succeeds
  Bytes out;
  for (const Token token : messages_[next_])
    if (Result<> written = write_token(token, out, randomness); !written) return pass_on(std::move(written));
  if (Result<> sealed = append_sealed(payload, out); !sealed) return pass_on(std::move(sealed));
  if (out.size() > kMaxNoiseMessage) return fail(errc::noise_length, "the payload is too long for a message");
  failed_ = false;
  ++next_;
  return out;
}

Result<Bytes> NoiseHandshake::read(ByteView message) {
  if (Result<> turn = check_turn(false); !turn) return pass_on(std::move(turn));
  failed_ = true;
  if (message.size() > kMaxNoiseMessage) return fail(errc::noise_length, "longer than a Noise message");
  ByteView rest = message;
  for (const Token token : messages_[next_])
    if (Result<> taken = read_token(token, rest); !taken) return pass_on(std::move(taken));
  Result<Bytes> payload = open_sealed(rest);
  if (!payload) return payload;
  failed_ = false;
  ++next_;
  return payload;
}

Guarded<NoiseKeys> NoiseHandshake::split() const {
  Wiped<NoiseHash> first;
  Wiped<NoiseHash> second;
  noise_hkdf(secrets_->chaining_key, {}, first.value, second.value);
  const bool initiator = side_ == Side::initiator;
  Guarded<NoiseKeys> keys = make_guarded<NoiseKeys>();
  std::copy_n((initiator ? first : second).value.begin(), kNoiseKeyBytes, keys->send.begin());
  std::copy_n((initiator ? second : first).value.begin(), kNoiseKeyBytes, keys->receive.begin());
  return keys;
}

}  // namespace postern::mesh
