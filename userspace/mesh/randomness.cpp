// SPDX-License-Identifier: Apache-2.0
#include "mesh/randomness.h"

#include <sodium.h>

#include <array>

#include "core/bytes.h"
#include "wire/sodium_ready.h"

namespace postern::mesh {

std::uint64_t Randomness::below(std::uint64_t limit) {
  std::array<std::uint8_t, 8> bytes{};
  fill(bytes);
  return load_le<std::uint64_t>(bytes, 0) % limit;
}

void SystemRandomness::fill(std::span<std::uint8_t> bytes) {
  wire::sodium_ready();
  ::randombytes_buf(bytes.data(), bytes.size());
}

}  // namespace postern::mesh
