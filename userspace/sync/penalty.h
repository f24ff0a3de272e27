// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "sync/limits.h"

namespace postern::sync {

// How long a gateway that sent what no gateway sends is not listened to: each time twice as long, until it
// kept to the rules for a while.
class Penalty {
 public:
  void impose(std::string why, std::uint64_t now_ns) {
    if (now_ns >= until_ns_ + kPenaltyMemory_ns) next_ns_ = kFirstPenalty_ns;
    until_ns_ = now_ns + next_ns_;
    next_ns_ = std::min(2 * next_ns_, kLastPenalty_ns);
    why_ = std::move(why);
    ++times_;
  }
  bool holds(std::uint64_t now_ns) const { return now_ns < until_ns_; }
  std::uint64_t left_ns(std::uint64_t now_ns) const { return holds(now_ns) ? until_ns_ - now_ns : 0; }
  std::uint64_t times() const { return times_; }
  const std::string& why() const { return why_; }

 private:
  std::uint64_t until_ns_ = 0;
  std::uint64_t next_ns_ = kFirstPenalty_ns;
  std::uint64_t times_ = 0;
  std::string why_;
};

}  // namespace postern::sync
