// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/gateway.h"
#include "agent/names.h"
#include "agent/outlet.h"
#include "agent/watch_filter.h"
#include "core/bytes.h"
#include "core/result.h"
#include "dataplane/counters.h"
#include "wire/json.h"

namespace postern::agent {

// Those who watch packets (SPEC 1.18): tells the packet path what they want, and each of them what comes. One
// that does not read loses lines, which are counted, and delays nobody.
class Watchers {
 public:
  // `gateway` must outlive this. Whatever an agent before this one wanted ends here.
  explicit Watchers(Gateway& gateway);

  // Answers `watch`: from now on `outlet` gets a line for each packet that `arguments` describe, as long as
  // it lives.
  Result<wire::Json> add(const wire::Json& arguments, const std::weak_ptr<Outlet>& outlet);
  void take(const pt_sample& sample, ByteView frame);
  // Each second: renews the wish, forgets who went, and tells of what was lost.
  void tick();

  std::uint64_t lost_by_readers() const { return lost_by_readers_; }

 private:
  struct Watcher {
    WatchFilter filter;
    std::weak_ptr<Outlet> outlet;
    std::uint64_t missed = 0;
    std::uint64_t missed_told = 0;
  };
  Result<> wish();
  void tell_losses();
  void look_at_day();

  Gateway* gateway_;
  std::vector<Watcher> watchers_;
  dataplane::EventLossCounts losses_{};  // when they were told of last
  std::uint64_t lost_by_readers_ = 0;
  // From the clock that counts sleep to the clock of the day. Steady, so that samples stay in their order.
  std::int64_t day_offset_ns_ = 0;
};

}  // namespace postern::agent
