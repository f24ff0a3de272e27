// SPDX-License-Identifier: Apache-2.0
// What work costs one core, for measurements of what waits for nothing.
#pragma once

#include <algorithm>
#include <ctime>
#include <vector>

namespace postern::bench {

// That this process has used.
inline double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Of at least one value.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace postern::bench
