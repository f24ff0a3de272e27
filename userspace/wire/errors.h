// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::wire::errc {

inline constexpr ErrorCode json_syntax{"json.syntax", ErrorKind::authority};
inline constexpr ErrorCode json_not_canonical{"json.not_canonical", ErrorKind::authority};
inline constexpr ErrorCode json_duplicate_key{"json.duplicate_key", ErrorKind::authority};
inline constexpr ErrorCode json_number{"json.number", ErrorKind::authority};
inline constexpr ErrorCode json_depth{"json.depth", ErrorKind::authority};
inline constexpr ErrorCode json_too_large{"json.too_large", ErrorKind::capacity};
inline constexpr ErrorCode field_missing{"json.field_missing", ErrorKind::authority};
inline constexpr ErrorCode field_unknown{"json.field_unknown", ErrorKind::authority};
inline constexpr ErrorCode field_invalid{"json.field_invalid", ErrorKind::authority};
inline constexpr ErrorCode bad_key{"key.invalid", ErrorKind::authority};
inline constexpr ErrorCode bad_signature{"signature.invalid", ErrorKind::authority};

}  // namespace postern::wire::errc
