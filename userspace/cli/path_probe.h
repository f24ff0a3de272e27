// SPDX-License-Identifier: Apache-2.0
// Finds out how large a packet a path takes: ICMP echo requests that must not be cut, by bisection (RFC 4821
// in spirit). The far end's own stack has to answer them, so what is measured is the narrower of both
// directions.
#pragma once

#include <cstdint>
#include <optional>

#include "core/ip.h"
#include "core/result.h"

namespace postern::cli {

struct ProbedPath {
  std::uint32_t mtu = 0;       // the largest IP packet that was answered
  std::uint32_t probes = 0;    // requests that were sent
  std::uint32_t told_mtu = 0;  // what a router named last, 0: none did
};

// Between the least that every path takes and `most`. mtu.probe: no right to (root or CAP_NET_RAW), not in
// the network namespace of `local`, or no answer at all.
Result<ProbedPath> probe_path(const IpAddress& local, const IpAddress& remote, std::uint32_t most);

}  // namespace postern::cli
