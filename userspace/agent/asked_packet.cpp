// SPDX-License-Identifier: Apache-2.0
#include "agent/asked_packet.h"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/errors.h"
#include "agent/owner_lookup.h"
#include "agent/packet_bytes.h"
#include "agent/sample_report.h"
#include "wire/fields.h"

namespace postern::agent {
namespace {

constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kIcmp = 1;
constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::uint16_t kTunnelSourcePort = 50000;
constexpr MacAddress kSomebody{{0x02, 0, 0, 0, 0, 0xfe}};
constexpr std::int64_t kMostPayload_bytes = 9000;

IpAddress read_address(wire::Fields& fields, std::string_view key) {
  const std::optional<IpAddress> address = IpAddress::parse(fields.text(key));
  if (!address) fields.reject(key, "expected an IP address");
  return address.value_or(IpAddress{});
}

std::uint8_t read_protocol(wire::Fields& fields) {
  static constexpr std::pair<std::string_view, std::uint8_t> kNames[] = {
      {"tcp", kTcp}, {"udp", kUdp}, {"icmp", kIcmp}, {"icmpv6", kIcmpv6}};
  const std::string name = fields.text("protocol");
  for (const auto& [known, number] : kNames)
    if (known == name) return number;
  unsigned number = 0;
  for (const char c : name)
    number = c >= '0' && c <= '9' && number < 256 ? number * 10 + static_cast<unsigned>(c - '0') : 256;
  if (name.empty() || number > 255)
    fields.reject("protocol", "expected tcp, udp, icmp, icmpv6 or a number up to 255");
  return static_cast<std::uint8_t>(number);
}

std::uint8_t read_tcp_flags(wire::Fields& fields, std::string_view text) {
  static constexpr std::pair<std::string_view, std::uint8_t> kNames[] = {
      {"fin", 0x01}, {"syn", 0x02}, {"rst", 0x04}, {"psh", 0x08}, {"ack", 0x10}, {"urg", 0x20}};
  std::uint8_t flags = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const auto* const known = std::find_if(std::begin(kNames), std::end(kNames),
                                           [&](const auto& name) { return name.first == word; });
    if (known == std::end(kNames)) {
      fields.reject("tcp_flags", "expected names of fin, syn, rst, psh, ack, urg with commas between them");
      return 0;
    }
    flags |= known->second;
  }
  return flags;
}

template <class Number>
void read_number(wire::Fields& fields, std::string_view key, std::int64_t most, Number& into) {
  if (fields.optional(key) != nullptr) into = static_cast<Number>(fields.integer(key, 0, most));
}

tl::unexpected<Error> unclear(std::string why) {
  return fail(errc::control_bad_argument, std::move(why));
}

Result<std::uint32_t> vni_of(const AskedPacket& packet, const dataplane::Tables& tables,
                             const dataplane::Legend& legend) {
  if (packet.vni) return *packet.vni;
  if (packet.segment) {
    for (const auto& [vni, name] : legend.segments)
      if (name == *packet.segment) return vni;
    return unclear("there is no segment \"" + *packet.segment + "\"");
  }
  if (tables.segments.size() == 1) return tables.segments.front().first;
  std::vector<std::uint32_t> owning;
  for (const auto& [vni, segment] : tables.segments)
    if (longest_owner(tables, vni, packet.source)) owning.push_back(vni);
  if (owning.size() == 1) return owning.front();
  return unclear((owning.empty() ? "nobody owns " : "several segments know ") + packet.source.text() +
                 ", so the tunnel's segment must be named (segment, or vni)");
}

Result<std::uint32_t> peer_of(const AskedPacket& packet, std::uint32_t vni, const dataplane::Tables& tables,
                              const dataplane::Legend& legend) {
  if (packet.peer) {
    for (const auto& [id, name] : legend.peers)
      if (name == *packet.peer) return id.value;
    return unclear("there is no peer or gateway \"" + *packet.peer + "\"");
  }
  const std::optional<OwnedPrefix> owner = longest_owner(tables, vni, packet.source);
  if (owner && owner->owner.kind == PT_OWNER_PEER) return owner->owner.id;
  return unclear("no peer owns " + packet.source.text() +
                 " in that segment, so it must be said who sends it: peer, or from with a tunnel address");
}

const pt_endpoint* endpoint_of(const dataplane::Tables& tables, std::uint32_t id) {
  const auto found = std::find_if(tables.endpoints.begin(), tables.endpoints.end(),
                                  [&](const auto& row) { return row.first == PT_ENDPOINT_KEY(id, 0); });
  return found == tables.endpoints.end() ? nullptr : &found->second;
}

// Our own tunnel address of the family.
IpAddress our_address(const dataplane::Tables& tables, bool v4) {
  for (const pt_address& raw : tables.gateway.underlay) {
    const IpAddress address = address_of(raw);
    if (address != IpAddress{} && address.is_v4() == v4) return address;
  }
  return {};
}

Bytes with_tag(Bytes frame, std::uint16_t vlan) {
  constexpr std::ptrdiff_t kMacs_bytes = 12;
  const auto high = static_cast<std::uint8_t>(vlan >> 8), low = static_cast<std::uint8_t>(vlan);
  if (vlan != 0) frame.insert(frame.begin() + kMacs_bytes, {0x81, 0x00, high, low});
  return frame;
}

Bytes packet_of(const AskedPacket& asked) {
  const PacketRoute route{asked.source, asked.destination};
  Bytes payload(asked.payload_bytes);
  if (asked.protocol == kTcp)
    payload =
        tcp_segment(route, asked.source_port, asked.destination_port, asked.tcp_flags, asked.payload_bytes);
  if (asked.protocol == kUdp)
    payload = udp_datagram(route, asked.source_port, asked.destination_port, payload);
  if (asked.protocol == (asked.source.is_v4() ? kIcmp : kIcmpv6))
    payload = icmp_message(route, asked.type, asked.code, asked.payload_bytes);
  return ip_packet(route, {asked.protocol, asked.ttl, asked.dont_fragment}, payload);
}

}  // namespace

Result<AskedPacket> read_asked_packet(const wire::Json& packet) {
  wire::Fields fields(packet, "packet");
  AskedPacket asked;
  asked.source = read_address(fields, "source");
  asked.destination = read_address(fields, "destination");
  asked.protocol = read_protocol(fields);
  if (asked.source.is_v4() != asked.destination.is_v4())
    fields.reject("destination", "source and destination must be of one family");
  if (!asked.source.is_v4()) asked.type = 128;
  read_number(fields, "source_port", 65535, asked.source_port);
  read_number(fields, "destination_port", 65535, asked.destination_port);
  read_number(fields, "type", 255, asked.type);
  read_number(fields, "code", 255, asked.code);
  read_number(fields, "ttl", 255, asked.ttl);
  read_number(fields, "payload_bytes", kMostPayload_bytes, asked.payload_bytes);
  if (fields.optional("tcp_flags") != nullptr)
    asked.tcp_flags = read_tcp_flags(fields, fields.text("tcp_flags"));
  if (fields.optional("dont_fragment") != nullptr) asked.dont_fragment = fields.boolean("dont_fragment");
  if (fields.optional("plain") != nullptr) asked.plain = fields.boolean("plain");
  if (fields.optional("peer") != nullptr) asked.peer = fields.text("peer");
  if (fields.optional("segment") != nullptr) asked.segment = fields.text("segment");
  if (fields.optional("vni") != nullptr)
    asked.vni = static_cast<std::uint32_t>(fields.integer("vni", 0, PT_MAX_VNI));
  if (fields.optional("from") != nullptr) asked.from = read_address(fields, "from");
  if (Result<> done = fields.finish(); !done) return fail(errc::control_bad_argument, done.error().context);
  return asked;
}

Result<Bytes> frame_of(const AskedPacket& asked, const AskedPort& port, const dataplane::Tables& tables,
                       const dataplane::Legend& legend) {
  const Bytes packet = packet_of(asked);
  if (port.role == config::Role::local || asked.plain)
    return with_tag(ethernet_frame(port.mac, kSomebody, packet), port.vlan);
  Result<std::uint32_t> vni = vni_of(asked, tables, legend);
  if (!vni) return pass_on(std::move(vni));
  const pt_endpoint* endpoint = nullptr;
  if (!asked.from || asked.peer) {
    Result<std::uint32_t> peer = peer_of(asked, *vni, tables, legend);
    if (!peer) return pass_on(std::move(peer));
    endpoint = endpoint_of(tables, *peer);
    if (endpoint == nullptr) return unclear("the peer has no tunnel address here; give one by from");
  }
  PacketRoute outer{asked.from ? *asked.from : address_of(endpoint->remote), {}};
  outer.destination = our_address(tables, outer.source.is_v4());
  if (outer.destination == IpAddress{})
    return unclear("this gateway has no tunnel address of the family of " + outer.source.text());
  MacAddress ours;
  MacAddress theirs = kSomebody;
  std::copy(std::begin(tables.gateway.mac), std::end(tables.gateway.mac), ours.bytes.begin());
  if (endpoint != nullptr)
    std::copy(std::begin(endpoint->mac), std::end(endpoint->mac), theirs.bytes.begin());
  const bool geneve = endpoint != nullptr && endpoint->tunnel == PT_TUNNEL_GENEVE;
  const Bytes inner = ethernet_frame(ours, theirs, packet);
  const std::uint16_t tunnel_port_be = geneve ? tables.gateway.geneve_port_be : tables.gateway.tunnel_port_be;
  const Bytes datagram = udp_datagram(outer, kTunnelSourcePort,
                                      static_cast<std::uint16_t>(tunnel_port_be << 8 | tunnel_port_be >> 8),
                                      geneve ? geneve_payload(*vni, inner) : vxlan_payload(*vni, inner));
  return ethernet_frame(port.mac, kSomebody, ip_packet(outer, {kUdp, 64, true}, datagram));
}

}  // namespace postern::agent
