// SPDX-License-Identifier: Apache-2.0
// What somebody wants to see of the packets (SPEC 1.18). Pure.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>

#include "abi.h"
#include "agent/names.h"
#include "core/ip.h"
#include "core/result.h"
#include "wire/json.h"

namespace postern::agent {

struct WatchFilter {
  std::bitset<PT_VERDICT_COUNT> verdicts;
  std::bitset<PT_DROP_REASON_COUNT> reasons;
  std::uint32_t ifindex = 0;  // 0: any; so for vni and peer
  std::uint32_t vni = 0;
  std::uint32_t peer = 0;
  std::optional<IpPrefix> source;
  std::optional<IpPrefix> destination;
  std::uint32_t snap_bytes = 0;     // of each frame; 0: none
  std::uint32_t rate_per_s = 1000;  // a CPU; 0: no limit
};

// Reads the arguments of `watch`; control.bad_argument names what there is instead.
Result<WatchFilter> read_watch_filter(const wire::Json& arguments, const Names& names);

bool matches(const WatchFilter& filter, const pt_sample& sample);

// The narrowest wish that holds all of these; nothing for none.
pt_watch widest(std::span<const WatchFilter> filters, std::uint64_t until_ns);

}  // namespace postern::agent
