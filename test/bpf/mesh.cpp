// SPDX-License-Identifier: Apache-2.0
#include "mesh.h"

#include <algorithm>
#include <cstring>

namespace postern::testing {
namespace {

constexpr Who kEverybody[] = {kAlpha,     kBeta,   kGatewayC,   kGatewayD, kRevoked, kExpired, kMacless,
                              kElsewhere, kSilent, kUnroutable, kLeaky,    kSixth,   kJumbo};

std::uint16_t be16(std::uint16_t value) {
  return __builtin_bswap16(value);
}

void add_policy(dataplane::Tables& tables) {
  tables.port_classes.assign(std::size_t{PT_PROTO_COUNT} * PT_PORT_LINES, pt_port_line{});
  set_port_class(tables, PT_PROTO_TCP, 80, 1);
  set_port_class(tables, PT_PROTO_TCP, 8080, 2);
  set_port_class(tables, PT_PROTO_TCP, 443, 3);
  set_port_class(tables, PT_PROTO_UDP, 53, 1);
  for (const std::uint16_t type : std::initializer_list<std::uint16_t>{0, 8})
    set_port_class(tables, PT_PROTO_ICMP, static_cast<std::uint16_t>(type << 8), 1);
  for (const std::uint16_t type : std::initializer_list<std::uint16_t>{128, 129})
    set_port_class(tables, PT_PROTO_ICMPV6, static_cast<std::uint16_t>(type << 8), 1);
  for (const std::uint16_t from : {kSiteClass, kPeerClass}) {
    for (const std::uint16_t to : {kSiteClass, kPeerClass, kResourceClass}) {
      for (const pt_protocol protocol : {PT_PROTO_TCP, PT_PROTO_UDP, PT_PROTO_ICMP, PT_PROTO_ICMPV6})
        allow(tables, from, to, protocol, 1);
    }
  }
  allow(tables, kSiteClass, kPeerClass, PT_PROTO_TCP, 2);
  allow(tables, kSiteClass, kPeerClass, PT_PROTO_TCP, 3, PT_RULE_STRICT);
}

void add_peer(dataplane::Tables& tables, Who who) {
  pt_peer peer{};
  peer.id = who;
  peer.segments[0] = who == kElsewhere ? 2 : 1;
  peer.state = who == kRevoked ? PT_PEER_REVOKED : who == kExpired ? PT_PEER_EXPIRED : PT_PEER_ACTIVE;
  peer.kind = who == kGatewayC || who == kGatewayD ? PT_PEER_GATEWAY : PT_PEER_STOCK;
  tables.peers.push_back({table_address(underlay_of(who)), peer});

  pt_endpoint endpoint{};
  endpoint.remote = table_address(underlay_of(who));
  endpoint.local = table_address(underlay_of(who).is_v4() ? our_underlay() : our_underlay6());
  std::copy(std::begin(peer.segments), std::end(peer.segments), endpoint.segments);
  if (who != kMacless) std::ranges::copy(peer_mac(who).bytes, endpoint.mac);
  endpoint.state = peer.state;
  endpoint.kind = peer.kind;
  endpoint.ways = 1;
  tables.endpoints.push_back({who, endpoint});

  const std::string number = std::to_string(who);
  const pt_owner owner{PT_OWNER_PEER, 0, kPeerClass, who};
  add_owner(tables, kVni, *IpPrefix::parse("10." + number + ".0.0/16"), owner);
  IpPrefix prefix6{inside6(who), 32};
  std::fill(prefix6.address.bytes.begin() + 4, prefix6.address.bytes.end(), std::uint8_t{0});
  add_owner(tables, kVni, prefix6, owner);
}

void add_port(dataplane::Tables& tables, const Interface& interface, std::uint32_t vni, std::uint16_t slot,
              pt_role role, std::uint16_t mtu) {
  pt_port port{};
  port.vni = vni;
  port.slot = slot;
  port.role = static_cast<__u8>(role);
  port.mtu = mtu;
  port.device = port.carrier = interface.ifindex;
  std::ranges::copy(interface.mac.bytes, port.mac);
  tables.ports.push_back({{interface.ifindex, 0, 0}, port});
}

template <class Key, class Value>
void sort_table(dataplane::Rows<Key, Value>& rows) {
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return std::memcmp(&a.first, &b.first, sizeof a.first) < 0; });
}

}  // namespace

MacAddress our_mac() {
  return mac("02:00:00:00:00:01");
}

MacAddress peer_mac(Who who) {
  return MacAddress{{0x02, 0, 0, 0, 0x0c, who}};
}

IpAddress our_underlay() {
  return ip("192.0.2.1");
}

IpAddress our_underlay6() {
  return ip("2001:db8::1");
}

IpAddress underlay_of(Who who) {
  switch (who) {
    case kSilent:
      return ip("192.0.2.99");
    case kUnroutable:
      return ip("198.51.100.1");
    case kLeaky:
      return ip("203.0.113.1");
    case kJumbo:
      return ip("198.18.0.15");
    case kSixth:
      return ip("2001:db8::e");
    default:
      return ip("192.0.2." + std::to_string(who));
  }
}

IpAddress inside(Who who) {
  return ip("10." + std::to_string(who) + ".0.10");
}

IpAddress inside6(Who who) {
  IpAddress address = ip("fd00::10");
  address.bytes[1] = who;
  return address;
}

IpAddress site_host() {
  return ip("10.1.0.10");
}

IpAddress site_host6() {
  return ip("fd01::10");
}

void add_owner(dataplane::Tables& tables, std::uint32_t vni, const IpPrefix& prefix, const pt_owner& owner) {
  const std::uint32_t vni_be = __builtin_bswap32(vni);
  if (prefix.is_v4()) {
    pt_owner_key4 key{32u + prefix.length, vni_be, {}};
    std::copy(prefix.address.bytes.begin() + 12, prefix.address.bytes.end(), key.address);
    tables.owners4.push_back({key, owner});
  } else {
    pt_owner_key6 key{32u + prefix.length, vni_be, {}};
    std::copy(prefix.address.bytes.begin(), prefix.address.bytes.end(), key.address);
    tables.owners6.push_back({key, owner});
  }
  if (vni != PT_VNI_ANY && prefix.length != 0) {
    add_owner(tables, PT_VNI_ANY, prefix, pt_owner{PT_OWNER_LOCAL, 0, 0, 0});
  }
}

void set_port_class(dataplane::Tables& tables, pt_protocol protocol, std::uint16_t port,
                    std::uint8_t port_class) {
  tables.port_classes[static_cast<std::size_t>(protocol) * PT_PORT_LINES + port / PT_PORT_LINE]
      .class_of[port % PT_PORT_LINE] = port_class;
}

void allow(dataplane::Tables& tables, std::uint16_t from, std::uint16_t to, pt_protocol protocol,
           std::uint8_t port_class, std::uint32_t flags) {
  const auto rule = static_cast<std::uint32_t>(tables.policy.size());
  tables.policy.push_back(
      {pt_policy_key{from, to, static_cast<__u8>(protocol), port_class, 0}, pt_rule{rule, flags}});
}

void sort_rows(dataplane::Tables& tables) {
  sort_table(tables.ports);
  sort_table(tables.segments);
  sort_table(tables.peers);
  sort_table(tables.endpoints);
  sort_table(tables.owners4);
  sort_table(tables.owners6);
  sort_table(tables.policy);
  sort_table(tables.rates);
  sort_table(tables.resources);
  sort_table(tables.services);
  sort_table(tables.backends);
}

dataplane::Tables mesh_tables() {
  const Network& network = Network::get();
  dataplane::Tables tables;
  tables.gateway.serial = 1;
  tables.gateway.open = 1;
  tables.gateway.tunnel_port_be = be16(PT_VXLAN_PORT);
  tables.gateway.geneve_port_be = be16(PT_GENEVE_PORT);
  tables.gateway.fence_class_be = be16(PT_FENCE_CLASS);
  tables.gateway.underlay[0] = table_address(our_underlay());
  tables.gateway.underlay[1] = table_address(our_underlay6());
  std::ranges::copy(our_mac().bytes, tables.gateway.mac);
  tables.gateway.clamp_mss = 1;
  add_port(tables, network.underlay, PT_VNI_ANY, 0, PT_ROLE_UNDERLAY, 1500);
  add_port(tables, network.site, kVni, 1, PT_ROLE_LOCAL, 1500);
  add_port(tables, network.other_site, kOtherVni, 2, PT_ROLE_LOCAL, 1500);
  add_port(tables, network.jumbo_underlay, PT_VNI_ANY, 3, PT_ROLE_UNDERLAY, 9216);
  add_port(tables, network.jumbo_site, kVni, 4, PT_ROLE_LOCAL, 9216);
  tables.segments.push_back(
      {kVni, {0, {}, table_address(ip("10.1.0.1")), table_address(ip("fd01::1")), 0, {}, {}}});
  tables.segments.push_back({kOtherVni, {1, {}, table_address(ip("10.9.0.1")), {}, 0, {}, {}}});
  for (const Who who : kEverybody)
    add_peer(tables, who);
  const pt_owner site{PT_OWNER_LOCAL, 0, kSiteClass, 0};
  add_owner(tables, kVni, *IpPrefix::parse("10.1.0.0/16"), site);
  add_owner(tables, kVni, *IpPrefix::parse("fd01::/32"), site);
  add_owner(tables, kOtherVni, *IpPrefix::parse("10.9.0.0/24"), site);
  add_owner(tables, kVni, *IpPrefix::parse("10.20.0.0/24"), {PT_OWNER_RESOURCE, 0, kResourceClass, 1});
  add_policy(tables);
  sort_rows(tables);
  return tables;
}

void add_host_port(dataplane::Tables& tables) {
  const Interface& port = Network::get().host_port;
  add_port(tables, port, kVni, 5, PT_ROLE_LOCAL, 1430);
  tables.ports.back().second.flags = PT_PORT_HOST;
  for (auto& [vni, segment] : tables.segments) {
    if (vni != kVni) continue;
    segment.host_port = port.ifindex;
    std::ranges::copy(port.mac.bytes, segment.host_mac);
  }
}

pt_peer& peer_row(dataplane::Tables& tables, Who who) {
  return std::ranges::find_if(tables.peers, [who](const auto& row) { return row.second.id == who; })->second;
}

pt_endpoint& endpoint_row(dataplane::Tables& tables, Who who) {
  return std::ranges::find_if(tables.endpoints, [who](const auto& row) { return row.first == who; })->second;
}

void revoke(dataplane::Tables& tables, Who who) {
  peer_row(tables, who).state = PT_PEER_REVOKED;
  endpoint_row(tables, who).state = PT_PEER_REVOKED;
}

Bytes from_peer(Who who, const Bytes& inner, std::uint32_t vni) {
  const IpAddress us = underlay_of(who).is_v4() ? our_underlay() : our_underlay6();
  return on_underlay(vxlan_packet({underlay_of(who), us}, 50000, vni, inner));
}

Bytes inner_frame(Who who, const Bytes& packet) {
  return ethernet(our_mac(), peer_mac(who), packet);
}

Bytes from_peer_packet(Who who, const Bytes& packet, std::uint32_t vni) {
  return from_peer(who, inner_frame(who, packet), vni);
}

Bytes on_underlay(const Bytes& packet) {
  return ethernet(Network::get().underlay.mac, Network::get().router, packet);
}

Bytes on_site(const Bytes& packet) {
  return ethernet(Network::get().site.mac, Network::get().host, packet);
}

Bytes delivered(const Bytes& packet) {
  return ethernet(Network::get().host, Network::get().site.mac, packet);
}

Bytes encapsulated(Who who, const Bytes& inner, std::uint16_t source_port, std::uint8_t tos) {
  return ethernet(
      Network::get().router, Network::get().underlay.mac,
      vxlan_packet({underlay_of(who).is_v4() ? our_underlay() : our_underlay6(), underlay_of(who)},
                   source_port, kVni, inner, tos));
}

Bytes encapsulated_packet(Who who, const Bytes& packet, std::uint16_t source_port, std::uint8_t tos) {
  return encapsulated(who, ethernet(peer_mac(who), our_mac(), packet), source_port, tos);
}

}  // namespace postern::testing
