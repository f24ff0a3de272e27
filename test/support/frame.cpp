// SPDX-License-Identifier: Apache-2.0
#include "support/frame.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace postern::testing {
namespace {

constexpr std::uint8_t kProtocolIcmp = 1;
constexpr std::uint8_t kProtocolTcp = 6;
constexpr std::uint8_t kProtocolUdp = 17;
constexpr std::uint8_t kProtocolIcmpv6 = 58;

template <class T>
T valid(std::optional<T> value, std::string_view text) {
  if (value) return *value;
  std::fprintf(stderr, "a test names \"%.*s\", which is no address\n", static_cast<int>(text.size()),
               text.data());
  std::abort();
}

void append(Bytes& out, ByteView more) {
  out.insert(out.end(), more.begin(), more.end());
}

void append_be16(Bytes& out, std::uint16_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

void append_be32(Bytes& out, std::uint32_t value) {
  append_be16(out, static_cast<std::uint16_t>(value >> 16));
  append_be16(out, static_cast<std::uint16_t>(value));
}

// An address as its family has it on the wire.
ByteView wire_address(const IpAddress& address) {
  return address.is_v4() ? ByteView(address.bytes).subspan(12) : ByteView(address.bytes);
}

// RFC 9293, RFC 8200 8.1: the sum over the pseudo header.
std::uint32_t pseudo_sum(const Route& route, std::uint8_t protocol, std::size_t length) {
  Bytes pseudo;
  append(pseudo, wire_address(route.from));
  append(pseudo, wire_address(route.to));
  append_be32(pseudo, static_cast<std::uint32_t>(length));
  append_be32(pseudo, protocol);
  return internet_sum(pseudo);
}

void fill_checksum(Bytes& bytes, std::size_t offset, std::uint32_t seed) {
  store_be16(bytes, offset, 0);
  store_be16(bytes, offset, static_cast<std::uint16_t>(~internet_sum(bytes, seed)));
}

IpFields with_protocol(IpFields fields, std::uint8_t protocol) {
  fields.protocol = protocol;
  return fields;
}

}  // namespace

IpAddress ip(std::string_view text) {
  return valid(IpAddress::parse(text), text);
}

MacAddress mac(std::string_view text) {
  return valid(MacAddress::parse(text), text);
}

pt_address table_address(const IpAddress& address) {
  pt_address out{};
  std::copy(address.bytes.begin(), address.bytes.end(), out.bytes);
  return out;
}

std::uint16_t internet_sum(ByteView bytes, std::uint32_t seed) {
  std::uint64_t sum = seed;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += static_cast<std::uint64_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  }
  while (sum > 0xffff)
    sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

void store_be16(Bytes& bytes, std::size_t offset, std::uint16_t value) {
  bytes.at(offset) = static_cast<std::uint8_t>(value >> 8);
  bytes.at(offset + 1) = static_cast<std::uint8_t>(value);
}

std::uint16_t load_be16(ByteView bytes, std::size_t offset) {
  return static_cast<std::uint16_t>(bytes[offset] << 8 | bytes[offset + 1]);
}

Bytes tcp(const Route& route, std::uint16_t source_port, std::uint16_t port, std::uint8_t flags,
          std::size_t payload) {
  Bytes out;
  append_be16(out, source_port);
  append_be16(out, port);
  append_be32(out, 1000);
  append_be32(out, 2000);
  out.push_back(0x50);
  out.push_back(flags);
  append_be16(out, 512);
  append_be32(out, 0);
  out.resize(out.size() + payload, 0x5a);
  fill_checksum(out, 16, pseudo_sum(route, kProtocolTcp, out.size()));
  return out;
}

Bytes udp(const Route& route, std::uint16_t source_port, std::uint16_t port, std::size_t payload) {
  Bytes out;
  append_be16(out, source_port);
  append_be16(out, port);
  append_be16(out, static_cast<std::uint16_t>(8 + payload));
  append_be16(out, 0);
  out.resize(out.size() + payload, 0x5a);
  fill_checksum(out, 6, pseudo_sum(route, kProtocolUdp, out.size()));
  return out;
}

Bytes icmp(const Route& route, std::uint8_t type, std::uint8_t code, const Bytes& rest) {
  Bytes out = {type, code, 0, 0};
  append(out, rest);
  fill_checksum(out, 2, route.from.is_v4() ? 0 : pseudo_sum(route, kProtocolIcmpv6, out.size()));
  return out;
}

Bytes ip_packet(const Route& route, const IpFields& fields, const Bytes& payload) {
  Bytes out;
  if (route.from.is_v4()) {
    const std::size_t header = 20 + fields.options.size();
    out = {static_cast<std::uint8_t>(0x40 | header / 4), fields.tos};
    append_be16(out, static_cast<std::uint16_t>(header + payload.size()));
    append_be16(out, fields.id);
    append_be16(out, fields.fragment);
    out.push_back(fields.ttl);
    out.push_back(fields.protocol);
    append_be16(out, 0);
    append(out, wire_address(route.from));
    append(out, wire_address(route.to));
    append(out, fields.options);
    fill_checksum(out, 10, 0);
  } else {
    append_be32(out, 6u << 28 | static_cast<std::uint32_t>(fields.tos) << 20);
    append_be16(out, static_cast<std::uint16_t>(payload.size()));
    out.push_back(fields.protocol);
    out.push_back(fields.ttl);
    append(out, wire_address(route.from));
    append(out, wire_address(route.to));
  }
  append(out, payload);
  return out;
}

Bytes tcp_packet(const Route& route, std::uint16_t source_port, std::uint16_t port, std::uint8_t flags,
                 const IpFields& fields) {
  return ip_packet(route, with_protocol(fields, kProtocolTcp), tcp(route, source_port, port, flags));
}

Bytes udp_packet(const Route& route, std::uint16_t source_port, std::uint16_t port, std::size_t payload,
                 const IpFields& fields) {
  return ip_packet(route, with_protocol(fields, kProtocolUdp), udp(route, source_port, port, payload));
}

Bytes icmp_packet(const Route& route, std::uint8_t type, std::uint8_t code, const Bytes& rest,
                  const IpFields& fields) {
  const std::uint8_t protocol = route.from.is_v4() ? kProtocolIcmp : kProtocolIcmpv6;
  return ip_packet(route, with_protocol(fields, protocol), icmp(route, type, code, rest));
}

Bytes ethernet(const MacAddress& to, const MacAddress& from, std::uint16_t type, const Bytes& payload) {
  Bytes out;
  append(out, to.bytes);
  append(out, from.bytes);
  append_be16(out, type);
  append(out, payload);
  return out;
}

Bytes ethernet(const MacAddress& to, const MacAddress& from, const Bytes& packet) {
  return ethernet(to, from, packet.at(0) >> 4 == 4 ? kIpv4 : kIpv6, packet);
}

Bytes tagged(const Bytes& frame, std::uint16_t vlan, std::uint16_t type) {
  Bytes out(frame.begin(), frame.begin() + 12);
  append_be16(out, type);
  append_be16(out, vlan);
  append(out, ByteView(frame).subspan(12));
  return out;
}

Bytes arp(const ArpFields& fields) {
  Bytes out;
  append_be16(out, 1);
  append_be16(out, kIpv4);
  append_be16(out, 0x0604);
  append_be16(out, fields.operation);
  append(out, fields.sender_mac.bytes);
  append(out, wire_address(fields.sender));
  append(out, fields.target_mac.bytes);
  append(out, wire_address(fields.target));
  return out;
}

Bytes discovery_packet(const Route& route, const DiscoveryFields& fields, const IpFields& ip_fields) {
  Bytes rest;
  append_be32(rest, fields.flags);
  append(rest, fields.target.bytes);
  rest.push_back(fields.option);
  rest.push_back(1);
  append(rest, fields.option_mac.bytes);
  return icmp_packet(route, fields.type, 0, rest, ip_fields);
}

Bytes vxlan(std::uint32_t vni, const Bytes& inner, std::uint8_t flags) {
  Bytes out = {flags, 0, 0, 0};
  append_be32(out, vni << 8);
  append(out, inner);
  return out;
}

Bytes vxlan_packet(const Route& outer, std::uint16_t source_port, std::uint32_t vni, const Bytes& inner,
                   std::uint8_t tos, std::uint8_t flags) {
  Bytes datagram;
  append_be16(datagram, source_port);
  append_be16(datagram, PT_VXLAN_PORT);
  append_be16(datagram, static_cast<std::uint16_t>(16 + inner.size()));
  append_be16(datagram, 0);
  append(datagram, vxlan(vni, inner, flags));
  if (!outer.from.is_v4()) fill_checksum(datagram, 6, pseudo_sum(outer, kProtocolUdp, datagram.size()));
  return ip_packet(outer, {.protocol = kProtocolUdp, .tos = tos, .fragment = 0x4000}, datagram);
}

}  // namespace postern::testing
