// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "abi.h"
#include "core/result.h"
#include "dataplane/plane.h"

namespace postern::dataplane {

// Reader of the ring by which the packet path tells the agent what to act on.
class EventRing {
 public:
  static Result<std::unique_ptr<EventRing>> open(const Plane& plane,
                                                 std::function<void(const pt_event&)> on_event);
  virtual ~EventRing() = default;
  virtual int poll_fd() const = 0;  // readable when drain() has something to hand out
  virtual Result<> drain() = 0;     // calls on_event for each waiting record
};

}  // namespace postern::dataplane
