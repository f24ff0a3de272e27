// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::claims::errc {

inline constexpr ErrorCode malformed{"beat.malformed"};
inline constexpr ErrorCode unknown_resource{"claim.unknown_resource", ErrorKind::usage};
inline constexpr ErrorCode not_candidate{"claim.not_candidate", ErrorKind::conflict};
inline constexpr ErrorCode held{"claim.held", ErrorKind::conflict};          // somebody else serves it
inline constexpr ErrorCode not_held{"claim.not_held", ErrorKind::conflict};  // there is nothing to give back
inline constexpr ErrorCode not_admitted{"claim.not_admitted", ErrorKind::conflict};
inline constexpr ErrorCode not_started{"claim.not_started"};
inline constexpr ErrorCode revocation{"claim.revocation", ErrorKind::authority};

}  // namespace postern::claims::errc
