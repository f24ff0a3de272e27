// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::dataplane::errc {

inline constexpr ErrorCode unknown_gateway{"compile.unknown_gateway", ErrorKind::config};
inline constexpr ErrorCode unknown_segment{"compile.unknown_segment", ErrorKind::config};
inline constexpr ErrorCode unknown_name{"compile.unknown_name",
                                        ErrorKind::authority};                   // a reference to nothing
inline constexpr ErrorCode ambiguous{"compile.ambiguous", ErrorKind::conflict};  // two things under one key
inline constexpr ErrorCode unsupported{"compile.unsupported", ErrorKind::authority};
inline constexpr ErrorCode capacity{"compile.capacity", ErrorKind::capacity};
inline constexpr ErrorCode load{"dataplane.load"};
inline constexpr ErrorCode pins{"dataplane.pins"};  // bpffs missing, foreign or half-made pins
inline constexpr ErrorCode abi{"dataplane.abi"};    // pins of another ABI version
inline constexpr ErrorCode map{"dataplane.map"};    // a map operation failed
inline constexpr ErrorCode frame{"dataplane.frame", ErrorKind::usage};  // to be explained
inline constexpr ErrorCode digest{"dataplane.digest"};  // read-back differs from what was written
inline constexpr ErrorCode stale{"dataplane.stale", ErrorKind::conflict};  // a lease of an epoch that is over
inline constexpr ErrorCode attach{"dataplane.attach"};
inline constexpr ErrorCode interface_missing{"netdev.interface_missing", ErrorKind::config};
inline constexpr ErrorCode interface_refused{"netdev.interface_refused", ErrorKind::config};
inline constexpr ErrorCode netlink{"netdev.netlink"};
inline constexpr ErrorCode backstop{"backstop.install"};

}  // namespace postern::dataplane::errc
