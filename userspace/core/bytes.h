// SPDX-License-Identifier: Apache-2.0
// Byte views, hex, and little-endian fields at fixed offsets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace postern {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;
using Hash256 = std::array<std::uint8_t, 32>;
using Id128 = std::array<std::uint8_t, 16>;

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Lower-case hex.
std::string to_hex(ByteView bytes);
// Accepts lower-case hex of an even length; nothing else.
std::optional<Bytes> from_hex(std::string_view hex);
template <std::size_t N>
std::optional<std::array<std::uint8_t, N>> array_from_hex(std::string_view hex) {
  const std::optional<Bytes> bytes = from_hex(hex);
  if (!bytes || bytes->size() != N) return std::nullopt;
  std::array<std::uint8_t, N> out{};
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

// Little-endian integer at `offset`. The caller has checked that it lies inside.
template <class T>
T load_le(ByteView bytes, std::size_t offset) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<T>(bytes[offset + i]) << (8 * i));
  return value;
}
template <class T>
void store_le(std::span<std::uint8_t> bytes, std::size_t offset, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes[offset + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

}  // namespace postern
