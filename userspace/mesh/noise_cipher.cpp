// SPDX-License-Identifier: Apache-2.0
#include "mesh/noise_cipher.h"

#include <sodium.h>

#include <algorithm>
#include <string>

#include "mesh/guarded.h"
#include "mesh/limits.h"
#include "wire/sodium_ready.h"

namespace postern::mesh {
namespace {

constexpr std::size_t kBlakeBlock = 128;
constexpr std::uint64_t kReservedNonce = UINT64_MAX;
using Block = std::array<std::uint8_t, kBlakeBlock>;

static_assert(kNoiseTagBytes == crypto_aead_chacha20poly1305_ietf_ABYTES);
static_assert(kNoiseKeyBytes == crypto_aead_chacha20poly1305_ietf_KEYBYTES);
static_assert(kNoiseHashBytes == crypto_generichash_BYTES_MAX);

// RFC 2104 with BLAKE2b-512. Noise has it so, and not BLAKE2b's own keyed mode.
void hmac(const NoiseHash& key, ByteView first, ByteView second, NoiseHash& out) {
  Wiped<Block> pad;
  Wiped<crypto_generichash_state> state;
  const auto begin = [&](std::uint8_t with) {
    pad.value.fill(with);
    for (std::size_t i = 0; i < key.size(); ++i)
      pad.value[i] = static_cast<std::uint8_t>(key[i] ^ with);
    ::crypto_generichash_init(&state.value, nullptr, 0, kNoiseHashBytes);
    ::crypto_generichash_update(&state.value, pad.value.data(), pad.value.size());
  };
  Wiped<NoiseHash> inner;
  begin(0x36);
  ::crypto_generichash_update(&state.value, first.data(), first.size());
  ::crypto_generichash_update(&state.value, second.data(), second.size());
  ::crypto_generichash_final(&state.value, inner.value.data(), inner.value.size());
  begin(0x5c);
  ::crypto_generichash_update(&state.value, inner.value.data(), inner.value.size());
  ::crypto_generichash_final(&state.value, out.data(), out.size());
}

// 32 zero bits, then the counter in little-endian (section 12.3).
std::array<std::uint8_t, 12> nonce_bytes(std::uint64_t counter) {
  std::array<std::uint8_t, 12> out{};
  store_le<std::uint64_t>(out, 4, counter);
  return out;
}

tl::unexpected<Error> exhausted() {
  return fail(errc::noise_nonce_exhausted, "all nonces of this key are used up; a new handshake is needed");
}

}  // namespace

NoiseHash noise_hash(ByteView first, ByteView second) {
  wire::sodium_ready();
  NoiseHash out{};
  crypto_generichash_state state;
  ::crypto_generichash_init(&state, nullptr, 0, out.size());
  ::crypto_generichash_update(&state, first.data(), first.size());
  ::crypto_generichash_update(&state, second.data(), second.size());
  ::crypto_generichash_final(&state, out.data(), out.size());
  return out;
}

void noise_hkdf(const NoiseHash& chaining_key, ByteView input, NoiseHash& first, NoiseHash& second) {
  constexpr std::uint8_t kOne = 1;
  constexpr std::uint8_t kTwo = 2;
  Wiped<NoiseHash> temp;
  Wiped<NoiseHash> one;
  hmac(chaining_key, input, {}, temp.value);
  hmac(temp.value, ByteView(&kOne, 1), {}, one.value);
  hmac(temp.value, one.value, ByteView(&kTwo, 1), second);
  first = one.value;
}

DhPublic dh_public(const DhSecret& secret) {
  wire::sodium_ready();
  DhPublic out{};
  ::crypto_scalarmult_base(out.data(), secret.data());
  return out;
}

Result<> dh(const DhSecret& secret, const DhPublic& remote, DhSecret& shared) {
  wire::sodium_ready();
  if (::crypto_scalarmult(shared.data(), secret.data(), remote.data()) == 0) return {};
  return fail(errc::noise_authentication, "a public key of the handshake is of small order");
}

Result<> NoiseCipher::seal(ByteView associated, ByteView plaintext, std::uint8_t* out) {
  if (nonce_ == kReservedNonce) return exhausted();
  const auto nonce = nonce_bytes(nonce_);
  ::crypto_aead_chacha20poly1305_ietf_encrypt(out, nullptr, plaintext.data(), plaintext.size(),
                                              associated.data(), associated.size(), nullptr, nonce.data(),
                                              key_->data());
  ++nonce_;
  return {};
}

Result<> NoiseCipher::open(ByteView associated, ByteView sealed, std::uint8_t* out) {
  if (nonce_ == kReservedNonce) return exhausted();
  if (sealed.size() < kNoiseTagBytes) {
    return fail(errc::noise_length, std::to_string(sealed.size()) + " bytes are too few for a sealed text");
  }
  const auto nonce = nonce_bytes(nonce_);
  if (::crypto_aead_chacha20poly1305_ietf_decrypt(out, nullptr, nullptr, sealed.data(), sealed.size(),
                                                  associated.data(), associated.size(), nonce.data(),
                                                  key_->data()) != 0) {
    return fail(
        errc::noise_authentication,
        "sealed bytes do not open: they were altered, or made by somebody else or for something else");
  }
  ++nonce_;
  return {};
}

}  // namespace postern::mesh
