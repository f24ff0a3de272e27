// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::mesh::errc {

inline constexpr ErrorCode noise_authentication{"noise.authentication", ErrorKind::authority};
inline constexpr ErrorCode noise_length{"noise.length"};
inline constexpr ErrorCode noise_order{"noise.order"};  // a message that is not this side's to write or read
inline constexpr ErrorCode noise_nonce_exhausted{"noise.nonce_exhausted"};
inline constexpr ErrorCode node_key{"link.node_key", ErrorKind::authority};  // no point of the curve
inline constexpr ErrorCode link_down{"link.down", ErrorKind::unreachable};
inline constexpr ErrorCode link_full{"link.full", ErrorKind::capacity};
inline constexpr ErrorCode link_oversized{"link.oversized", ErrorKind::capacity};

}  // namespace postern::mesh::errc
