// SPDX-License-Identifier: Apache-2.0
#include "wire/base64.h"

#include <array>

namespace postern::wire {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xff;

constexpr std::array<std::uint8_t, 256> kValue = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    table[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return table;
}();

}  // namespace

std::string base64_encode(ByteView bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? bytes[i + j] : 0U);
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= count ? kAlphabet[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

std::optional<Bytes> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
    ++padding;
  Bytes out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t unused = i + 4 == text.size() ? padding : 0;
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::uint8_t value = j < 4 - unused ? kValue[static_cast<std::uint8_t>(text[i + j])] : 0;
      if (value == kNone) return std::nullopt;
      group = group << 6 | value;
    }
    // Bits that no byte uses must be zero: else two texts would name the same bytes.
    if ((group & ((1U << (8 * unused)) - 1)) != 0) return std::nullopt;
    for (std::size_t j = 0; j < 3 - unused; ++j)
      out.push_back(static_cast<std::uint8_t>(group >> (16 - 8 * j)));
  }
  return out;
}

}  // namespace postern::wire
