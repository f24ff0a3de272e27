// SPDX-License-Identifier: Apache-2.0
#include "agent/packet_bytes.h"

#include <algorithm>

namespace postern::agent {
namespace {

constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kIcmpv6 = 58;

void put_be16(Bytes& out, std::size_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

void put_be32(Bytes& out, std::size_t value) {
  put_be16(out, value >> 16 & 0xffff);
  put_be16(out, value & 0xffff);
}

void put(Bytes& out, ByteView more) {
  out.insert(out.end(), more.begin(), more.end());
}

ByteView on_the_wire(const IpAddress& address) {
  return address.is_v4() ? ByteView(address.bytes).subspan(12) : ByteView(address.bytes);
}

std::uint32_t sum_of(ByteView bytes, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i < bytes.size(); i += 2)
    sum += static_cast<std::uint32_t>(bytes[i] << 8 | (i + 1 < bytes.size() ? bytes[i + 1] : 0));
  while (sum >> 16 != 0)
    sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

void seal(Bytes& bytes, std::size_t at, std::uint32_t seed) {
  const std::uint32_t checksum = ~sum_of(bytes, seed) & 0xffff;
  bytes[at] = static_cast<std::uint8_t>(checksum >> 8);
  bytes[at + 1] = static_cast<std::uint8_t>(checksum);
}

std::uint32_t pseudo_header(const PacketRoute& route, std::uint8_t protocol, std::size_t length) {
  Bytes pseudo;
  put(pseudo, on_the_wire(route.source));
  put(pseudo, on_the_wire(route.destination));
  put_be32(pseudo, length);
  put_be32(pseudo, protocol);
  return sum_of(pseudo);
}

Bytes tunnel(std::uint32_t first_word, std::uint32_t vni, const Bytes& frame) {
  Bytes out;
  put_be32(out, first_word);
  put_be32(out, std::size_t{vni} << 8);
  put(out, frame);
  return out;
}

}  // namespace

Bytes tcp_segment(const PacketRoute& route, std::uint16_t source_port, std::uint16_t destination_port,
                  std::uint8_t flags, std::size_t payload_bytes) {
  Bytes out;
  put_be16(out, source_port);
  put_be16(out, destination_port);
  put_be32(out, 1);
  put_be32(out, 0);
  out.push_back(5 << 4);
  out.push_back(flags);
  put_be16(out, 65535);
  put_be32(out, 0);
  out.resize(out.size() + payload_bytes);
  seal(out, 16, pseudo_header(route, kTcp, out.size()));
  return out;
}

Bytes udp_datagram(const PacketRoute& route, std::uint16_t source_port, std::uint16_t destination_port,
                   const Bytes& payload) {
  Bytes out;
  put_be16(out, source_port);
  put_be16(out, destination_port);
  put_be16(out, 8 + payload.size());
  put_be16(out, 0);
  put(out, payload);
  seal(out, 6, pseudo_header(route, kUdp, out.size()));
  if (out[6] == 0 && out[7] == 0) out[6] = out[7] = 0xff;
  return out;
}

Bytes icmp_message(const PacketRoute& route, std::uint8_t type, std::uint8_t code,
                   std::size_t payload_bytes) {
  Bytes out = {type, code, 0, 0, 0, 1, 0, 1};
  out.resize(out.size() + payload_bytes);
  seal(out, 2, route.source.is_v4() ? 0 : pseudo_header(route, kIcmpv6, out.size()));
  return out;
}

Bytes ip_packet(const PacketRoute& route, const IpHeader& header, const Bytes& payload) {
  Bytes out;
  if (route.source.is_v4()) {
    out = {0x45, 0};
    put_be16(out, 20 + payload.size());
    put_be16(out, 0);
    put_be16(out, header.dont_fragment ? 0x4000 : 0);
    out.insert(out.end(), {header.ttl, header.protocol, 0, 0});
  } else {
    put_be32(out, 6U << 28);
    put_be16(out, payload.size());
    out.insert(out.end(), {header.protocol, header.ttl});
  }
  put(out, on_the_wire(route.source));
  put(out, on_the_wire(route.destination));
  if (route.source.is_v4()) seal(out, 10, 0);
  put(out, payload);
  return out;
}

Bytes ethernet_frame(const MacAddress& destination, const MacAddress& source, const Bytes& packet) {
  Bytes out;
  put(out, destination.bytes);
  put(out, source.bytes);
  put_be16(out, !packet.empty() && packet[0] >> 4 == 6 ? 0x86dd : 0x0800);
  put(out, packet);
  return out;
}

Bytes vxlan_payload(std::uint32_t vni, const Bytes& frame) {
  return tunnel(0x08000000, vni, frame);
}

Bytes geneve_payload(std::uint32_t vni, const Bytes& frame) {
  return tunnel(0x6558, vni, frame);
}

}  // namespace postern::agent
