// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "observe/observation.h"

namespace postern::observe {

// The observation in Prometheus' text format (SPEC 7.3). Counters are the kernel's own totals, mirrored and
// never counted twice; every drop reason and verdict is there from the start, at 0.
std::string metrics_text(const Observation& seen);

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace postern::observe
