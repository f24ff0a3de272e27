// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/ip.h"
#include "dataplane/netdev.h"

namespace postern::agent {

// Keeps the MACs of the next hops towards all peers known to the kernel: XDP never probes them itself. Works
// in rounds, a bounded step at a time, so that a large mesh does not hold up the loop.
class Neighbours {
 public:
  explicit Neighbours(dataplane::Netdev& netdev) : netdev_(&netdev) {}

  // Starts a round over these tunnel addresses; what is left of the round before is dropped.
  void begin(std::vector<IpAddress> remotes);
  // Does the next part. False when the round is over.
  bool step();

  // Has one neighbour resolved, as the packet path asked. Failing is no harm: it asks again.
  void want(IfIndex ifindex, const IpAddress& address);

  // Tunnel addresses to which the last complete round found no route, with the reason.
  const std::vector<std::string>& unreachable() const { return unreachable_; }

 private:
  dataplane::Netdev* netdev_;
  std::vector<IpAddress> remotes_;
  std::size_t next_ = 0;
  std::set<std::pair<IfIndex, IpAddress>> asked_;
  std::vector<std::string> failed_;
  std::vector<std::string> unreachable_;
};

}  // namespace postern::agent
