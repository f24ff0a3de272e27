// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::sync::errc {

inline constexpr ErrorCode malformed{"sync.malformed"};        // no message that a gateway sends
inline constexpr ErrorCode unknown_kind{"sync.unknown_kind"};  // of a later version

}  // namespace postern::sync::errc
