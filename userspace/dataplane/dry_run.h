// SPDX-License-Identifier: Apache-2.0
// One packet through the packet path, without consequences (SPEC 1.17): the same program, compiled so that it
// writes into no table, run by BPF_PROG_TEST_RUN over the plane's own maps. Not thread-safe.
#pragma once

#include <memory>

#include "abi.h"
#include "config/config.h"
#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "dataplane/plane.h"

namespace postern::dataplane {

inline constexpr std::size_t kMaxDryFrame_bytes = 16'384;

struct DryResult {
  pt_trace trace{};
  Bytes leaves;  // the frame as the program left it
};

class DryRun {
 public:
  // Loads the dry programs, which takes the verifier a while. `plane` must outlive this.
  static Result<std::unique_ptr<DryRun>> open(const Plane& plane);
  virtual ~DryRun() = default;

  // As if `frame` (14 to kMaxDryFrame_bytes bytes, Ethernet header first) had arrived on the interface, which
  // must be one of this process's network namespace.
  virtual Result<DryResult> run(config::Role role, IfIndex arrival, ByteView frame) = 0;
};

}  // namespace postern::dataplane
