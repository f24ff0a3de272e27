// SPDX-License-Identifier: Apache-2.0
#include "mesh/node_key.h"

#include <sodium.h>

#include <algorithm>

#include "wire/hash.h"
#include "wire/sodium_ready.h"

namespace postern::mesh {

NodeId node_id(const wire::PublicKey& key) {
  return wire::blake2b({key.bytes});
}

StaticKey link_key(const wire::SecretKey& key) {
  StaticKey out;
  out.secret = make_guarded<DhSecret>();
  // libsodium's secret key: seed, then public key. Only the seed is looked at.
  Wiped<std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES>> pair;
  const std::span<const std::uint8_t, 32> seed = key.seed();
  std::copy(seed.begin(), seed.end(), pair.value.begin());
  ::crypto_sign_ed25519_sk_to_curve25519(out.secret->data(), pair.value.data());
  out.public_key = dh_public(*out.secret);
  return out;
}

Result<DhPublic> link_key(const wire::PublicKey& key) {
  wire::sodium_ready();
  DhPublic out{};
  if (::crypto_sign_ed25519_pk_to_curve25519(out.data(), key.bytes.data()) == 0) return out;
  return fail(errc::node_key,
              "the key " + key.text() + " is no Ed25519 public key that a link can be made to");
}

}  // namespace postern::mesh
