// SPDX-License-Identifier: Apache-2.0
// Packets as bytes, built layer by layer: each function puts its header in front of what the next layer gave
// it. Lengths and checksums are filled in here, by code that shares nothing with the packet path, so a test
// can compare whole frames with what the gateway sent.
#pragma once

#include <cstdint>
#include <string_view>

#include "abi.h"
#include "core/bytes.h"
#include "core/ip.h"

namespace postern::testing {

// Texts of tests are known to be valid; an invalid one ends the test program.
IpAddress ip(std::string_view text);
MacAddress mac(std::string_view text);
pt_address table_address(const IpAddress& address);

// RFC 1071 over the bytes, starting from `seed`; 0xffff over data that holds its own right checksum.
std::uint16_t internet_sum(ByteView bytes, std::uint32_t seed = 0);

inline constexpr std::uint16_t kIpv4 = 0x0800;
inline constexpr std::uint16_t kArp = 0x0806;
inline constexpr std::uint16_t kIpv6 = 0x86dd;

struct Route {
  IpAddress from;
  IpAddress to;
};

// Transports, with their checksum over the pseudo header of `route`.
inline constexpr std::uint8_t kSyn = 0x02;
inline constexpr std::uint8_t kRst = 0x04;
inline constexpr std::uint8_t kAck = 0x10;
Bytes tcp(const Route& route, std::uint16_t source_port, std::uint16_t port, std::uint8_t flags,
          std::size_t payload = 0);
Bytes udp(const Route& route, std::uint16_t source_port, std::uint16_t port, std::size_t payload = 8);
// ICMP or ICMPv6 by the route's family: four bytes of header, then `rest`.
Bytes icmp(const Route& route, std::uint8_t type, std::uint8_t code, const Bytes& rest = Bytes(8));

struct IpFields {
  std::uint8_t protocol = 0;
  std::uint8_t ttl = 64;
  std::uint8_t tos = 0;
  std::uint16_t fragment = 0;  // IPv4: flags and offset as on the wire
  Bytes options = {};          // IPv4; a multiple of four bytes
  std::uint16_t id = 0;
};
Bytes ip_packet(const Route& route, const IpFields& fields, const Bytes& payload);
// The usual whole packets.
Bytes tcp_packet(const Route& route, std::uint16_t source_port, std::uint16_t port, std::uint8_t flags,
                 const IpFields& fields = {});
Bytes udp_packet(const Route& route, std::uint16_t source_port, std::uint16_t port, std::size_t payload = 8,
                 const IpFields& fields = {});
Bytes icmp_packet(const Route& route, std::uint8_t type, std::uint8_t code, const Bytes& rest = Bytes(8),
                  const IpFields& fields = {});

Bytes ethernet(const MacAddress& to, const MacAddress& from, std::uint16_t type, const Bytes& payload);
// The type follows from the packet's version.
Bytes ethernet(const MacAddress& to, const MacAddress& from, const Bytes& packet);
// Puts an 802.1Q tag behind the MACs.
Bytes tagged(const Bytes& frame, std::uint16_t vlan, std::uint16_t type = 0x8100);

struct ArpFields {
  std::uint16_t operation = 1;
  MacAddress sender_mac;
  IpAddress sender;
  MacAddress target_mac;
  IpAddress target;
};
Bytes arp(const ArpFields& fields);

// ICMPv6 neighbour solicitation or advertisement with one link-layer address option.
struct DiscoveryFields {
  std::uint8_t type = 135;
  IpAddress target;
  std::uint32_t flags = 0;
  std::uint8_t option = 1;
  MacAddress option_mac;
};
Bytes discovery_packet(const Route& route, const DiscoveryFields& fields,
                       const IpFields& ip_fields = {.ttl = 255});

// UDP payload of a VXLAN packet. `flags` is the first byte.
Bytes vxlan(std::uint32_t vni, const Bytes& inner, std::uint8_t flags = 0x08);
// A whole IP packet of a VXLAN tunnel as postern sends it: over IPv4 with DF and no UDP checksum.
Bytes vxlan_packet(const Route& outer, std::uint16_t source_port, std::uint32_t vni, const Bytes& inner,
                   std::uint8_t tos = 0, std::uint8_t flags = 0x08);

void store_be16(Bytes& bytes, std::size_t offset, std::uint16_t value);
std::uint16_t load_be16(ByteView bytes, std::size_t offset);

}  // namespace postern::testing
