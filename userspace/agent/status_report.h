// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "agent/gateway.h"
#include "observe/observation.h"
#include "wire/json.h"

namespace postern::agent {

// The answer to `status` (SPEC 7.2). `started_monotonic_ns`: when this agent began.
wire::Json status_report(const Gateway& gateway, const observe::Health& health,
                         std::uint64_t started_monotonic_ns);

// What the metrics tell now. Counters that cannot be read stay at 0.
observe::Observation observation(const Gateway& gateway);

wire::Json names_array(const std::vector<std::string_view>& names);

}  // namespace postern::agent
