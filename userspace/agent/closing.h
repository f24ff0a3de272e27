// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "authority/snapshot.h"
#include "core/clock.h"

namespace postern::agent {

// The instant of CLOCK_MONOTONIC, in nanoseconds, at which the kernel is to close a snapshot by itself should
// nobody tell it otherwise (SPEC 3.4); 0: never. Never while the clock contradicts `floor`, the highest
// signed time of issue: nothing expires by a suspect clock. A snapshot that has expired gives an instant that
// is past.
std::uint64_t closing_instant_ns(authority::OnExpiry on_expiry, UtcSeconds expires, UtcSeconds floor,
                                 const Clock& clock);

}  // namespace postern::agent
