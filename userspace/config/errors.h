// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::config::errc {

// Contexts read "file:line:column: what, expected what; what to do".
inline constexpr ErrorCode syntax{"config.syntax", ErrorKind::config};
inline constexpr ErrorCode unknown_key{"config.unknown_key", ErrorKind::config};
inline constexpr ErrorCode duplicate_key{"config.duplicate_key", ErrorKind::config};
inline constexpr ErrorCode missing_key{"config.missing_key", ErrorKind::config};
inline constexpr ErrorCode too_large{"config.too_large", ErrorKind::config};
inline constexpr ErrorCode bad_value{"config.bad_value", ErrorKind::config};

}  // namespace postern::config::errc
