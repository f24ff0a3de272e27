// SPDX-License-Identifier: Apache-2.0
// A node's Ed25519 key as the static key of its links. One key pair serves both: events and bases are signed
// under domains, and Noise signs nothing, so neither use can be turned against the other.
#pragma once

#include <array>

#include "core/result.h"
#include "mesh/guarded.h"
#include "mesh/noise_cipher.h"
#include "wire/sign.h"

namespace postern::mesh {

// BLAKE2b-256 of a gateway's Ed25519 public key: the name by which hellos call it (SPEC 8.2).
using NodeId = std::array<std::uint8_t, 32>;
NodeId node_id(const wire::PublicKey& key);

struct StaticKey {
  Guarded<DhSecret> secret;
  DhPublic public_key{};
};

StaticKey link_key(const wire::SecretKey& key);
// Fails with errc::node_key for what is no key of the curve's large subgroup.
Result<DhPublic> link_key(const wire::PublicKey& key);

}  // namespace postern::mesh
