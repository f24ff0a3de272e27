// SPDX-License-Identifier: Apache-2.0
#include "packet_case.h"

#include <doctest/doctest.h>

namespace postern::testing {

std::vector<PacketCase> all_cases() {
  std::vector<PacketCase> all;
  for (auto& part : {parse_cases(), header_cases(), quote_cases(), admit_cases(), own_cases(), policy_cases(),
                     steer_cases(), local_cases(), neighbour_cases(), host_port_cases(), vlan_cases()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

void run_cases(const std::vector<PacketCase>& cases) {
  TestGateway gateway(mesh_tables());
  bool changed = false;
  for (const PacketCase& one : cases) {
    CAPTURE(one.says);
    if (changed || one.change) {
      dataplane::Tables tables = mesh_tables();
      if (one.change) one.change(tables);
      gateway.adopt(tables);
      changed = static_cast<bool>(one.change);
    }
    const Run run = one.side == Side::underlay ? gateway.underlay(one.frame) : gateway.local(one.frame);
    CHECK(run.end.text() == one.end.text());
  }
}

}  // namespace postern::testing
