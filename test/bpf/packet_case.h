// SPDX-License-Identifier: Apache-2.0
// One packet and how it must end. Each stage's test file lists its cases; the files that need them all (that
// every verdict and reason is provoked, that random changes to them stay accounted for) collect them from
// here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "test_gateway.h"

namespace postern::testing {

struct PacketCase {
  std::string says;
  Side side = Side::underlay;
  Bytes frame;
  End end;
  std::function<void(dataplane::Tables&)> change = {};  // to mesh_tables(), for this case alone
};

std::vector<PacketCase> parse_cases();
std::vector<PacketCase> header_cases();
std::vector<PacketCase> quote_cases();
std::vector<PacketCase> admit_cases();
std::vector<PacketCase> own_cases();
std::vector<PacketCase> policy_cases();
std::vector<PacketCase> steer_cases();
std::vector<PacketCase> local_cases();
std::vector<PacketCase> neighbour_cases();
std::vector<PacketCase> host_port_cases();
std::vector<PacketCase> vlan_cases();
std::vector<PacketCase> all_cases();

void run_cases(const std::vector<PacketCase>& cases);

}  // namespace postern::testing
