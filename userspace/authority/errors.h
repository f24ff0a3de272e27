// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::authority::errc {

inline constexpr ErrorCode envelope{"snapshot.envelope", ErrorKind::authority};
inline constexpr ErrorCode too_large{"snapshot.too_large", ErrorKind::capacity};
inline constexpr ErrorCode capacity{"snapshot.capacity", ErrorKind::capacity};  // more of something than fits
inline constexpr ErrorCode signature{"snapshot.signature", ErrorKind::authority};
inline constexpr ErrorCode threshold{"snapshot.threshold", ErrorKind::authority};
inline constexpr ErrorCode field{"snapshot.field", ErrorKind::authority};
inline constexpr ErrorCode reference{"snapshot.reference",
                                     ErrorKind::authority};                       // names what does not exist
inline constexpr ErrorCode ownership{"snapshot.ownership", ErrorKind::conflict};  // two owners of one prefix
inline constexpr ErrorCode wrong_mesh{"snapshot.wrong_mesh", ErrorKind::authority};
inline constexpr ErrorCode rollback{"snapshot.rollback", ErrorKind::authority};
inline constexpr ErrorCode history{"snapshot.history", ErrorKind::authority};  // `prev` does not chain
inline constexpr ErrorCode equivocation{"snapshot.equivocation", ErrorKind::authority};
inline constexpr ErrorCode expired{"snapshot.expired", ErrorKind::authority};
inline constexpr ErrorCode root_change{"snapshot.root_change", ErrorKind::authority};
inline constexpr ErrorCode floor_fell{"snapshot.floor_fell", ErrorKind::authority};
inline constexpr ErrorCode fast_forward{"snapshot.fast_forward", ErrorKind::authority};
inline constexpr ErrorCode conflict{"snapshot.conflict", ErrorKind::authority};  // blocked by equivocation
inline constexpr ErrorCode refused{"snapshot.refused", ErrorKind::authority};    // was rolled back
inline constexpr ErrorCode rollback_refused{"rollback.refused", ErrorKind::authority};
inline constexpr ErrorCode timestamp_expired{"timestamp.expired", ErrorKind::authority};
inline constexpr ErrorCode timestamp_rollback{"timestamp.rollback", ErrorKind::authority};
inline constexpr ErrorCode bundle{"bundle.malformed", ErrorKind::authority};
inline constexpr ErrorCode bad_root{"root.invalid", ErrorKind::authority};
inline constexpr ErrorCode policy{"policy.invalid", ErrorKind::config};
inline constexpr ErrorCode policy_test{"policy.test", ErrorKind::config};  // a test of the policy fails

}  // namespace postern::authority::errc
