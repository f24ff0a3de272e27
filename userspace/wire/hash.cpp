// SPDX-License-Identifier: Apache-2.0
#include "wire/hash.h"

#include <sodium.h>
#include <xxhash.h>

#include "wire/sodium_ready.h"

namespace postern::wire {

Hash256 blake2b(std::initializer_list<ByteView> parts) {
  sodium_ready();
  Hash256 out{};
  crypto_generichash_state state;
  ::crypto_generichash_init(&state, nullptr, 0, out.size());
  for (const ByteView part : parts)
    ::crypto_generichash_update(&state, part.data(), part.size());
  ::crypto_generichash_final(&state, out.data(), out.size());
  return out;
}

std::uint64_t checksum(ByteView bytes, std::uint64_t salt) {
  return ::XXH3_64bits_withSeed(bytes.data(), bytes.size(), salt);
}

Id128 random_id() {
  sodium_ready();
  Id128 out{};
  ::randombytes_buf(out.data(), out.size());
  return out;
}

}  // namespace postern::wire
