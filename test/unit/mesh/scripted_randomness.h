// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>
#include <stdexcept>

#include "core/bytes.h"
#include "mesh/randomness.h"

namespace postern::testing {

// Gives the bytes that it was made with, and no others.
class ScriptedRandomness final : public mesh::Randomness {
 public:
  explicit ScriptedRandomness(Bytes script) : script_(std::move(script)) {}
  void fill(std::span<std::uint8_t> bytes) override {
    if (script_.size() < bytes.size()) throw std::runtime_error("the script has run out");
    std::copy_n(script_.begin(), bytes.size(), bytes.begin());
    script_.erase(script_.begin(), script_.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
  }

 private:
  Bytes script_;
};

// The same bytes at each run of a seed.
class SeededRandomness final : public mesh::Randomness {
 public:
  explicit SeededRandomness(std::uint64_t seed) : engine_(seed) {}
  void fill(std::span<std::uint8_t> bytes) override {
    for (std::uint8_t& byte : bytes)
      byte = static_cast<std::uint8_t>(engine_());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace postern::testing
