// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

Bytes allowed(Who who) {
  return tcp_packet({inside(who), site_host()}, 40000, 80, kSyn);
}

PacketCase frame(std::string says, const Bytes& inner, End end) {
  return {std::move(says), Side::underlay, from_peer(kAlpha, inner), end};
}

PacketCase addressed(std::string says, std::string_view from, std::string_view to, pt_drop_reason reason) {
  const Bytes packet = udp_packet({ip(from), ip(to)}, 40000, 53);
  return {std::move(says), Side::underlay, from_peer_packet(kAlpha, packet), drop(reason)};
}

void add_peers(std::vector<PacketCase>& cases) {
  const Bytes inner = inner_frame(kAlpha, allowed(kAlpha));
  cases.push_back({"a known peer in its segment is let in", Side::underlay, from_peer(kAlpha, inner),
                   verdict(PT_VERDICT_DECAPSULATED)});
  cases.push_back({"a stranger is refused", Side::underlay,
                   on_underlay(vxlan_packet({ip("192.0.2.200"), our_underlay()}, 50000, kVni, inner)),
                   drop(PT_DROP_PEER_UNKNOWN)});
  cases.push_back({"an IPv6 stranger is refused", Side::underlay,
                   on_underlay(vxlan_packet({ip("2001:db8::bad"), ip("2001:db8::1")}, 50000, kVni, inner)),
                   drop(PT_DROP_PEER_UNKNOWN)});
  cases.push_back({"a revoked peer is refused", Side::underlay, from_peer_packet(kRevoked, allowed(kRevoked)),
                   drop(PT_DROP_PEER_REVOKED)});
  cases.push_back({"an expired peer is refused", Side::underlay,
                   from_peer_packet(kExpired, allowed(kExpired)), drop(PT_DROP_PEER_EXPIRED)});
  cases.push_back({"a segment of others is refused", Side::underlay, from_peer(kAlpha, inner, kOtherVni),
                   drop(PT_DROP_VNI_DENIED)});
  cases.push_back({"a segment that does not exist is refused", Side::underlay, from_peer(kAlpha, inner, 300),
                   drop(PT_DROP_VNI_DENIED)});
  cases.push_back(
      {"VNI 0 is no segment", Side::underlay, from_peer(kAlpha, inner, 0), drop(PT_DROP_VNI_DENIED)});
  cases.push_back({"VNI 0 is no segment, whatever the tables hold", Side::underlay,
                   from_peer(kAlpha, inner, PT_VNI_ANY), drop(PT_DROP_VNI_DENIED),
                   [](dataplane::Tables& tables) {
                     tables.segments.push_back({PT_VNI_ANY, tables.segments.front().second});
                     sort_rows(tables);
                   }});
  for (const std::uint8_t flags : std::initializer_list<std::uint8_t>{0x00, 0x0c, 0x88, 0x09}) {
    cases.push_back(
        {"VXLAN flags " + std::to_string(flags) + " of a known peer are refused", Side::underlay,
         on_underlay(vxlan_packet({underlay_of(kAlpha), our_underlay()}, 50000, kVni, inner, 0, flags)),
         drop(PT_DROP_BAD_TUNNEL)});
  }
  cases.push_back({"a closed gateway admits nobody", Side::underlay, from_peer(kAlpha, inner),
                   drop(PT_DROP_CLOSED), [](dataplane::Tables& tables) { tables.gateway.open = 0; }});
  cases.push_back({"a tunnel packet in a VLAN is refused", Side::underlay,
                   tagged(from_peer(kAlpha, inner), 5), drop(PT_DROP_VLAN_TAG)});
  Bytes other_port = from_peer(kAlpha, inner);
  store_be16(other_port, 36, 4790);
  cases.push_back(
      {"another UDP port is the host's business", Side::underlay, other_port, verdict(PT_VERDICT_PASS)});
}

void add_frames(std::vector<PacketCase>& cases) {
  const Bytes packet = allowed(kAlpha);
  const MacAddress from = peer_mac(kAlpha);
  const MacAddress everyone = mac("ff:ff:ff:ff:ff:ff");
  cases.push_back(frame("an inner frame for another MAC is refused",
                        ethernet(mac("02:00:00:00:00:02"), from, packet), drop(PT_DROP_NOT_OUR_MAC)));
  cases.push_back(
      frame("inner broadcast is refused", ethernet(everyone, from, packet), drop(PT_DROP_INNER_MULTICAST)));
  cases.push_back(frame("an inner multicast MAC is refused", ethernet(mac("01:00:5e:00:00:05"), from, packet),
                        drop(PT_DROP_INNER_MULTICAST)));
  cases.push_back(frame("ARP to a multicast MAC is refused",
                        ethernet(mac("01:00:5e:00:00:05"), from, kArp, Bytes(28)),
                        drop(PT_DROP_INNER_MULTICAST)));
  cases.push_back(
      frame("an inner VLAN tag is refused", tagged(inner_frame(kAlpha, packet), 5), drop(PT_DROP_VLAN_TAG)));
  cases.push_back(frame("an inner service tag is refused", tagged(inner_frame(kAlpha, packet), 5, 0x88a8),
                        drop(PT_DROP_VLAN_TAG)));
  cases.push_back(frame("an inner type that is not IP or ARP is refused",
                        ethernet(our_mac(), from, 0x88cc, Bytes(40)), drop(PT_DROP_INNER_ETHERTYPE)));
}

void add_addresses(std::vector<PacketCase>& cases) {
  const pt_drop_reason many = PT_DROP_INNER_MULTICAST;
  const pt_drop_reason local = PT_DROP_LINK_LOCAL;
  cases.push_back(addressed("a multicast destination is refused", "10.2.0.10", "224.0.0.251", many));
  cases.push_back(addressed("the broadcast destination is refused", "10.2.0.10", "255.255.255.255", many));
  cases.push_back(addressed("a multicast source is refused", "239.1.1.1", "10.1.0.10", many));
  cases.push_back(addressed("an IPv6 multicast destination is refused", "fd02::10", "ff02::fb", many));
  cases.push_back(addressed("an IPv6 multicast source is refused", "ff02::1", "fd01::10", many));
  cases.push_back(addressed("a loopback destination is refused", "10.2.0.10", "127.0.0.1", local));
  cases.push_back(addressed("a loopback source is refused", "127.0.0.1", "10.1.0.10", local));
  cases.push_back(addressed("an unspecified source is refused", "0.0.0.0", "10.1.0.10", local));
  cases.push_back(addressed("an IPv4 link-local source is refused", "169.254.1.1", "10.1.0.10", local));
  cases.push_back(addressed("an IPv6 link-local source is refused", "fe80::1", "fd01::10", local));
  cases.push_back(addressed("an IPv6 link-local destination is refused", "fd02::10", "febf::1", local));
  cases.push_back(addressed("the IPv6 loopback is refused", "::1", "fd01::10", local));
  cases.push_back(addressed("the IPv6 unspecified source is refused", "::", "fd01::10", local));
}

}  // namespace

std::vector<PacketCase> admit_cases() {
  std::vector<PacketCase> cases;
  add_peers(cases);
  add_frames(cases);
  add_addresses(cases);
  return cases;
}

TEST_CASE("only an active peer, in a segment of its own, with a frame for us is admitted") {
  run_cases(admit_cases());
}

TEST_CASE("reserved VXLAN fields and the outer UDP checksum do not matter") {
  const TestGateway gateway(mesh_tables());
  Bytes frame = from_peer_packet(kAlpha, allowed(kAlpha));
  store_be16(frame, 40, 0xbeef);  // UDP checksum
  frame.at(43) = 0x77;            // behind the flags
  frame.at(49) = 0x77;            // behind the VNI
  CHECK(gateway.underlay(frame).end == verdict(PT_VERDICT_DECAPSULATED));
}

TEST_CASE("what a recognised peer is refused for is counted against it") {
  const TestGateway gateway(mesh_tables());
  const Bytes refused = from_peer_packet(kRevoked, allowed(kRevoked));
  gateway.underlay(refused);
  const pt_peer_count count = gateway.peer_count(kRevoked);
  CHECK(count.dropped.packets == 1);
  CHECK(count.dropped.bytes == refused.size());
  CHECK(count.rx.packets == 0);
}

}  // namespace postern::testing
