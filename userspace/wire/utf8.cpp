// SPDX-License-Identifier: Apache-2.0
#include "wire/utf8.h"

#include <algorithm>

namespace postern::wire {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Bytes of the character that `text` begins with, or 0.
std::size_t character_size(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  // The second byte's range keeps out long spellings, surrogates, and what lies beyond U+10FFFF.
  unsigned low = 0x80;
  unsigned high = 0xbf;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  if (byte_at(text, 1) < low || byte_at(text, 1) > high) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  }
  return size;
}

}  // namespace

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t size = character_size(text.substr(at));
    if (size == 0) return at;
    at += size;
  }
  return text.size();
}

bool is_encoded_surrogate(std::string_view text) {
  return byte_at(text, 0) == 0xed && byte_at(text, 1) >= 0xa0 && byte_at(text, 1) <= 0xbf &&
         (byte_at(text, 2) & 0xc0) == 0x80;
}

}  // namespace postern::wire
