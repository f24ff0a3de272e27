// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "abi.h"
#include "agent/names.h"
#include "core/ip.h"
#include "wire/json.h"

namespace postern::agent {

// One packet as the packet path tells of it: {verdict, reason?, interface, packet, segment?, sender?, ...},
// under the snapshot's names (SPEC 1.18). What is not known is null.
wire::Json sample_report(const pt_sample& sample, const Names& names);

IpAddress address_of(const pt_address& raw);
// "tcp", "udp", "icmp", "icmpv6", or the number.
std::string protocol_name(std::uint8_t number);

}  // namespace postern::agent
