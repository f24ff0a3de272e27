// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace postern::mesh {

// Where keys, identifiers and jitter come from. Handed in, so that a simulation is the same at each run.
class Randomness {
 public:
  virtual ~Randomness() = default;
  virtual void fill(std::span<std::uint8_t> bytes) = 0;

  // 0 .. limit-1; `limit` must not be 0. Good for jitter, slightly uneven for anything else.
  std::uint64_t below(std::uint64_t limit);
};

// The kernel's, by way of libsodium.
class SystemRandomness final : public Randomness {
 public:
  void fill(std::span<std::uint8_t> bytes) override;
};

}  // namespace postern::mesh
