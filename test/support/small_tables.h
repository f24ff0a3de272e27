// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/ip.h"
#include "dataplane/tables.h"

namespace postern::testing {

// A complete, open generation: one row in each table, and as many IPv4 owners as asked for. `serial` sets its
// mark in the gateway row.
inline dataplane::Tables small_tables(std::uint64_t serial, std::uint32_t owners = 1) {
  dataplane::Tables tables;
  tables.gateway.serial = serial;
  tables.gateway.open = 1;
  tables.gateway.tunnel_port_be = static_cast<__u16>(__builtin_bswap16(PT_VXLAN_PORT));
  const auto address = [](std::string_view text) {
    pt_address out{};
    const IpAddress parsed = *IpAddress::parse(text);
    std::copy(parsed.bytes.begin(), parsed.bytes.end(), out.bytes);
    return out;
  };
  tables.gateway.underlay[0] = address("192.0.2.1");
  tables.ports.push_back(
      {pt_port_key{7, 0, 0}, pt_port{PT_VNI_ANY, 0, PT_ROLE_UNDERLAY, 0, 0, {}, 7, 7, 0, {}}});
  tables.segments.push_back({100, pt_segment{}});
  tables.peers.push_back(
      {address("192.0.2.2"), pt_peer{{1, 0, 0, 0}, 5, PT_PEER_ACTIVE, PT_PEER_STOCK, 0, 0}});
  tables.endpoints.push_back(
      {5, pt_endpoint{address("192.0.2.2"), address("192.0.2.1"), {1, 0, 0, 0}, {}, 0, 0, 0, 1, 0, 0, 0}});
  for (std::uint32_t i = 0; i < owners; ++i) {
    const __u8 high = static_cast<__u8>(i >> 8);
    const __u8 low = static_cast<__u8>(i);
    pt_owner owner{};
    owner.kind = PT_OWNER_PEER;
    owner.class_id = 1;
    owner.id = 5;
    tables.owners4.push_back({pt_owner_key4{32 + 32, __builtin_bswap32(100), {10, 1, high, low}}, owner});
  }
  pt_owner owner6{};
  owner6.kind = PT_OWNER_LOCAL;
  tables.owners6.push_back({pt_owner_key6{32 + 16, __builtin_bswap32(100), {0xfd}}, owner6});
  tables.policy.push_back({pt_policy_key{1, 1, PT_PROTO_TCP, 1, 0}, pt_rule{0, 0}});
  tables.port_classes.resize(std::size_t{PT_PROTO_COUNT} * PT_PORT_LINES);
  return tables;
}

}  // namespace postern::testing
