// SPDX-License-Identifier: Apache-2.0
// The primitives that Noise_*_25519_ChaChaPoly_BLAKE2b is made of (Noise rev 34, sections 4, 5.1 and 12).
// Only these files of the mesh know libsodium.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/bytes.h"
#include "core/result.h"
#include "mesh/errors.h"

namespace postern::mesh {

inline constexpr std::size_t kNoiseKeyBytes = 32;
inline constexpr std::size_t kNoiseHashBytes = 64;

using DhPublic = std::array<std::uint8_t, 32>;
using DhSecret = std::array<std::uint8_t, 32>;
using NoiseKey = std::array<std::uint8_t, kNoiseKeyBytes>;
using NoiseHash = std::array<std::uint8_t, kNoiseHashBytes>;

NoiseHash noise_hash(ByteView first, ByteView second);

// HKDF of section 4.3 with two outputs; either may be the chaining key itself.
void noise_hkdf(const NoiseHash& chaining_key, ByteView input, NoiseHash& first, NoiseHash& second);

DhPublic dh_public(const DhSecret& secret);
// Fails when the shared secret would be zero, whatever our key: a public key of small order.
Result<> dh(const DhSecret& secret, const DhPublic& remote, DhSecret& shared);

// A CipherState whose key lies in the caller's guarded memory.
class NoiseCipher {
 public:
  // `key` must outlive this.
  explicit NoiseCipher(const NoiseKey& key, std::uint64_t nonce = 0) : key_(&key), nonce_(nonce) {}

  // `out` has room for the plaintext and kNoiseTagBytes. A nonce is used once; the last one never.
  Result<> seal(ByteView associated, ByteView plaintext, std::uint8_t* out);
  // `out` has room for the sealed bytes without their tag. A failure uses no nonce up.
  Result<> open(ByteView associated, ByteView sealed, std::uint8_t* out);

  std::uint64_t nonce() const { return nonce_; }

 private:
  const NoiseKey* key_;
  std::uint64_t nonce_;
};

}  // namespace postern::mesh
