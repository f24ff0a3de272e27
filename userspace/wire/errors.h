// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::wire::errc {

inline constexpr ErrorCode json_syntax{"json.syntax", ErrorKind::authority};
inline constexpr ErrorCode json_utf8{"json.utf8", ErrorKind::authority};
inline constexpr ErrorCode json_surrogate{"json.surrogate", ErrorKind::authority};
inline constexpr ErrorCode json_byte_order_mark{"json.byte_order_mark", ErrorKind::authority};
inline constexpr ErrorCode json_white_space{"json.white_space", ErrorKind::authority};
inline constexpr ErrorCode json_trailing_bytes{"json.trailing_bytes", ErrorKind::authority};
inline constexpr ErrorCode json_escape{"json.escape", ErrorKind::authority};  // not the one spelling
inline constexpr ErrorCode json_key_order{"json.key_order", ErrorKind::authority};
inline constexpr ErrorCode json_duplicate_key{"json.duplicate_key", ErrorKind::authority};
inline constexpr ErrorCode json_float{"json.float", ErrorKind::authority};
inline constexpr ErrorCode json_number{"json.number", ErrorKind::authority};  // beyond 2^53-1, or misspelled
inline constexpr ErrorCode json_depth{"json.depth", ErrorKind::authority};
inline constexpr ErrorCode json_too_large{"json.too_large", ErrorKind::capacity};
inline constexpr ErrorCode field_missing{"json.field_missing", ErrorKind::authority};
inline constexpr ErrorCode field_unknown{"json.field_unknown", ErrorKind::authority};
inline constexpr ErrorCode field_invalid{"json.field_invalid", ErrorKind::authority};
inline constexpr ErrorCode bad_key{"key.invalid", ErrorKind::authority};
inline constexpr ErrorCode bad_signature{"signature.invalid", ErrorKind::authority};

}  // namespace postern::wire::errc
