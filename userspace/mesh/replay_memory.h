// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <set>

#include "core/bytes.h"

namespace postern::mesh {

// The nonces of the last handshakes that proved to be a gateway's. A recorded one cannot succeed anyhow,
// since the prologue has our own fresh nonce; this tells it from a forged one.
class ReplayMemory {
 public:
  bool has(const Id128& nonce) const { return nonces_.count(nonce) != 0; }
  void remember(const Id128& nonce) {
    if (!nonces_.insert(nonce).second) return;
    order_.push_back(nonce);
    if (order_.size() <= kMost) return;
    nonces_.erase(order_.front());
    order_.pop_front();
  }

 private:
  static constexpr std::size_t kMost = 4096;
  std::set<Id128> nonces_;
  std::deque<Id128> order_;
};

}  // namespace postern::mesh
