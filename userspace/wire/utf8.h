// SPDX-License-Identifier: Apache-2.0
// Where a text ceases to be UTF-8, for error texts; simdjson says quickly whether it does.
#pragma once

#include <cstddef>
#include <string_view>

namespace postern::wire {

// Offset of the first byte that begins no character (RFC 3629), or text.size().
std::size_t first_invalid_utf8(std::string_view text);

// Whether `text` begins with three bytes that would encode U+D800..U+DFFF.
bool is_encoded_surrogate(std::string_view text);

}  // namespace postern::wire
