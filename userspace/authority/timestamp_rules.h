// SPDX-License-Identifier: Apache-2.0
// May this timestamp follow what was seen before (SPEC 3.6)? And does it say that the feed is frozen? Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "authority/adoption_rules.h"
#include "authority/timestamp.h"

namespace postern::authority {

// Fails with timestamp_expired; with timestamp_rollback when it is older than the last one or names an older
// snapshot than the last one or than the adopted one; with fast_forward; and with equivocation when it
// vouches for another snapshot of a serial than the adopted one or the last timestamp does.
Result<> may_follow(const Timestamp& timestamp, const Adopted& adopted, const std::optional<Timestamp>& last,
                    UtcSeconds now);

struct Freshness {
  std::optional<Serial> behind;  // the authority vouches for this one, which is newer than the adopted one
  bool frozen = false;           // nobody vouches any more that the adopted one is the newest
};

// `freshest`: the latest signed time of issue of anything. `max_age_s`: 0 when the gateway does not demand
// timestamps; one that was seen still counts.
Freshness freshness(const Adopted& adopted, const std::optional<Timestamp>& last, UtcSeconds freshest,
                    std::int64_t max_age_s, UtcSeconds now);

}  // namespace postern::authority
