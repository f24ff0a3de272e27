// SPDX-License-Identifier: Apache-2.0
// Packets as bytes, built from the inside out: each function puts its header in front of what it is given.
// Lengths and checksums are filled in. Source: RFC 791, 8200, 768, 9293, 792, 4443, 7348, 8926.
#pragma once

#include <cstdint>

#include "core/bytes.h"
#include "core/ip.h"

namespace postern::agent {

struct PacketRoute {
  IpAddress source;
  IpAddress destination;  // of the same family
};

struct IpHeader {
  std::uint8_t protocol = 0;
  std::uint8_t ttl = 64;
  bool dont_fragment = true;
};

// Transports, checksummed with the pseudo header of `route`.
Bytes tcp_segment(const PacketRoute& route, std::uint16_t source_port, std::uint16_t destination_port,
                  std::uint8_t flags, std::size_t payload_bytes);
Bytes udp_datagram(const PacketRoute& route, std::uint16_t source_port, std::uint16_t destination_port,
                   const Bytes& payload);
// ICMP or ICMPv6, by the route's family, of eight bytes and the payload.
Bytes icmp_message(const PacketRoute& route, std::uint8_t type, std::uint8_t code, std::size_t payload_bytes);

Bytes ip_packet(const PacketRoute& route, const IpHeader& header, const Bytes& payload);
// The type follows from the packet's version.
Bytes ethernet_frame(const MacAddress& destination, const MacAddress& source, const Bytes& packet);

Bytes vxlan_payload(std::uint32_t vni, const Bytes& frame);
Bytes geneve_payload(std::uint32_t vni, const Bytes& frame);

}  // namespace postern::agent
