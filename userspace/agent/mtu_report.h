// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/gateway.h"
#include "core/result.h"
#include "wire/json.h"

namespace postern::agent {

// How large a packet may be on each way to a peer, and where each number comes from: postern/mtu/v1 (SPEC
// 7.7). Arguments: {"peer"}.
Result<wire::Json> mtu_report(Gateway& gateway, const wire::Json& arguments);

// Headers in front of the inner IP packet.
struct TunnelOverhead {
  std::uint32_t ip = 20;
  std::uint32_t udp = 8;
  std::uint32_t tunnel = 8;  // VXLAN, or Geneve without options
  std::uint32_t ethernet = 14;
  std::uint32_t total() const { return ip + udp + tunnel + ethernet; }
};
TunnelOverhead overhead_over(bool v4);

}  // namespace postern::agent
