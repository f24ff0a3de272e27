// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.h"

namespace postern::wire {

// RFC 4648 section 4, padded.
std::string base64_encode(ByteView bytes);
// Accepts exactly what base64_encode writes: padded, no white space, unused bits zero.
std::optional<Bytes> base64_decode(std::string_view text);

}  // namespace postern::wire
