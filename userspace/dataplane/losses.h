// SPDX-License-Identifier: Apache-2.0
// Frames lost after the packet path let them go, by interface, from the kernel's tracepoints (SPEC 1.10).
// Counted while this object lives.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "dataplane/errors.h"

namespace postern::dataplane {

struct LossCounts {
  std::uint64_t redirect = 0;  // arrived here, and the kernel could not redirect it
  std::uint64_t transmit = 0;  // redirected to here, and the driver did not take it
};

class Losses {
 public:
  // errc::load on a kernel that does not describe its types (no BTF).
  static Result<std::unique_ptr<Losses>> open();
  virtual ~Losses() = default;

  // Counts for these interfaces of this thread's network namespace from now on, and for no others. An
  // interface that stays keeps its counts.
  virtual Result<> watch(const std::vector<IfIndex>& interfaces) = 0;
  // Zero for an interface that is not watched.
  virtual LossCounts read(IfIndex interface) const = 0;
};

}  // namespace postern::dataplane
