// SPDX-License-Identifier: Apache-2.0
#include "agent/neighbours.h"

#include <algorithm>

namespace postern::agent {
namespace {

constexpr std::size_t kStep = 256;
constexpr std::size_t kMaxTold = 5;

}  // namespace

void Neighbours::begin(std::vector<IpAddress> remotes) {
  remotes_ = std::move(remotes);
  next_ = 0;
  asked_.clear();
  failed_.clear();
}

bool Neighbours::step() {
  const std::size_t end = std::min(next_ + kStep, remotes_.size());
  for (; next_ < end; ++next_) {
    const IpAddress& remote = remotes_[next_];
    const Result<dataplane::NextHop> hop = netdev_->route(remote);
    if (!hop) {
      if (failed_.size() < kMaxTold)
        failed_.push_back("no route to the tunnel address " + remote.text() + " (" + hop.error().context +
                          ")");
      continue;
    }
    if (asked_.emplace(hop->ifindex, hop->address).second) want(hop->ifindex, hop->address);
  }
  if (next_ < remotes_.size()) return true;
  unreachable_ = std::move(failed_);
  failed_.clear();
  return false;
}

void Neighbours::want(IfIndex ifindex, const IpAddress& address) {
  [[maybe_unused]] const Result<> asked = netdev_->want_neighbour(ifindex, address);
}

}  // namespace postern::agent
