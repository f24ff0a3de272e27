// SPDX-License-Identifier: Apache-2.0
// Samples of packets that the packet path sends to those who watch (SPEC 1.18), and what it is told to send.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "abi.h"
#include "core/bytes.h"
#include "core/result.h"
#include "dataplane/plane.h"

namespace postern::dataplane {

class SampleRing {
 public:
  // `frame`: the front of the packet as it arrived, empty if frames are not asked for.
  using OnSample = std::function<void(const pt_sample&, ByteView frame)>;

  static Result<std::unique_ptr<SampleRing>> open(const Plane& plane, OnSample on_sample);
  virtual ~SampleRing() = default;

  virtual int poll_fd() const = 0;
  // Hands out at most `most` waiting samples. True when more may wait.
  virtual Result<bool> drain(std::size_t most) = 0;
};

// What the packet path sends from now on. All zero: nothing.
Result<> write_watch(const Plane& plane, const pt_watch& watch);

}  // namespace postern::dataplane
