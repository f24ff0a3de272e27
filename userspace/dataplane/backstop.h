// SPDX-License-Identifier: Apache-2.0
// The nftables table that keeps the gateway closed whenever XDP does not run (SPEC 1.11): the kernel forwards
// nothing between mesh-side and site-side interfaces but what the packet path hands to it by a host port.
// Installed before interfaces serve; stays when the agent stops.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "dataplane/errors.h"

namespace postern::dataplane {

struct BackstopRules {
  std::string table;                  // "postern-MESH-GATEWAY"
  std::vector<std::string> underlay;  // interface names
  std::vector<std::string> local;
  std::vector<std::string> host = {};  // the kernel's ends of host ports
  std::uint16_t tunnel_port = 4789;    // this and Geneve's are all that the host may forward to the underlay
};

// Replaces the table in one transaction: there is no moment without it.
Result<> install_backstop(const BackstopRules& rules);
// True when the table is there with the rules that install_backstop would write.
Result<bool> backstop_intact(const BackstopRules& rules);

}  // namespace postern::dataplane
