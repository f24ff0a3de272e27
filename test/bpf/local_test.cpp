// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kPass = verdict(PT_VERDICT_PASS);

Bytes syn(const IpAddress& from, const IpAddress& to, std::uint16_t port = 80) {
  return tcp_packet({from, to}, 40000, port, kSyn);
}

PacketCase site(std::string says, std::string_view from, std::string_view to, End end) {
  return {std::move(says), Side::local, on_site(syn(ip(from), ip(to))), end};
}

void close(dataplane::Tables& tables) {
  tables.gateway.open = 0;
}

void route_all_to_alpha(dataplane::Tables& tables) {
  const pt_owner owner{PT_OWNER_PEER, PT_OWNER_DEFAULT_ROUTE, 2, kAlpha};
  add_owner(tables, kVni, *IpPrefix::parse("0.0.0.0/0"), owner);
}

void add_hosts_own(std::vector<PacketCase>& cases) {
  const MacAddress everyone = mac("ff:ff:ff:ff:ff:ff");
  const MacAddress host = Network::get().host;
  cases.push_back({"ARP goes to the host", Side::local, ethernet(everyone, host, kArp, Bytes(28)), kPass});
  cases.push_back({"LLDP goes to the host", Side::local,
                   ethernet(mac("01:80:c2:00:00:0e"), host, 0x88cc, Bytes(40)), kPass});
  cases.push_back({"DHCP goes to the host", Side::local,
                   ethernet(everyone, host, udp_packet({ip("0.0.0.0"), ip("255.255.255.255")}, 68, 67)),
                   kPass});
  cases.push_back(site("multicast goes to the host", "10.1.0.10", "224.0.0.251", kPass));
  cases.push_back(site("IPv6 link-local traffic goes to the host", "fe80::10", "fe80::1", kPass));
  cases.push_back(site("the segment's gateway address is the host's", "10.1.0.10", "10.1.0.1", kPass));
  cases.push_back(site("the IPv6 gateway address is the host's", "fd01::10", "fd01::1", kPass));
  cases.push_back(site("the underlay address is the host's", "10.1.0.10", "192.0.2.1", kPass));
  cases.push_back(site("traffic that is not the mesh's goes to the host", "172.16.0.1", "172.16.0.2", kPass));
  cases.push_back({"any port of the gateway's own address is the host's", Side::local,
                   on_site(syn(site_host(), ip("10.1.0.1"), 22)), kPass});
  cases.push_back(site("the site's broadcast address is the host's", "10.1.0.10", "10.1.0.255", kPass));
  cases.push_back({"a question for the gateway's MAC goes to the host, even from a link-local source",
                   Side::local,
                   on_site(discovery_packet({ip("fe80::10"), ip("fd01::1")},
                                            {.target = ip("fd01::1"), .option_mac = {}})),
                   kPass});
  cases.push_back({"a neighbour's advertisement goes to the host", Side::local,
                   on_site(discovery_packet({site_host6(), ip("fd01::1")},
                                            {.type = 136, .target = site_host6(), .option_mac = {}})),
                   kPass});
  cases.push_back({"a flooded frame for another gateway's MAC is not routed", Side::local,
                   ethernet(mac("02:00:00:00:0f:0f"), host, syn(site_host(), inside(kAlpha))), kPass});
  cases.push_back({"a spoofed source is dropped whatever MAC the frame is for", Side::local,
                   ethernet(mac("02:00:00:00:0f:0f"), host, syn(inside(kAlpha), site_host())),
                   drop(PT_DROP_SOURCE_DENIED)});
  cases.push_back({"a closed gateway can still be reached from the site", Side::local,
                   on_site(syn(site_host(), ip("10.1.0.1"), 22)), kPass, close});
}

}  // namespace

std::vector<PacketCase> local_cases() {
  std::vector<PacketCase> cases = {
      site("from the site into a peer's tunnel", "10.1.0.10", "10.2.0.10", verdict(PT_VERDICT_ENCAPSULATED)),
      site("IPv6 from the site into a peer's tunnel", "fd01::10", "fd02::10",
           verdict(PT_VERDICT_ENCAPSULATED)),
      site("between two hosts of the site", "10.1.0.20", "10.1.0.10", verdict(PT_VERDICT_ROUTED)),
  };
  add_hosts_own(cases);
  cases.push_back({"neighbour discovery does not enter a tunnel", Side::local,
                   on_site(discovery_packet({site_host6(), inside6(kAlpha)},
                                            {.target = inside6(kAlpha), .option_mac = {}})),
                   drop(PT_DROP_NEIGHBOUR_REFUSED)});
  cases.push_back({"a site host's tag has no segment here", Side::local,
                   tagged(on_site(syn(site_host(), inside(kAlpha))), 9), drop(PT_DROP_VLAN_TAG)});
  cases.push_back({"between two hosts of the site the rules hold", Side::local,
                   on_site(syn(ip("10.1.0.20"), site_host(), 22)), drop(PT_DROP_POLICY_DENIED)});
  cases.push_back({"a closed gateway sends nothing into the mesh", Side::local,
                   on_site(syn(site_host(), inside(kAlpha))), drop(PT_DROP_CLOSED), close});
  cases.push_back({"a closed gateway sends nothing between site hosts", Side::local,
                   on_site(syn(ip("10.1.0.20"), site_host())), drop(PT_DROP_CLOSED), close});
  cases.push_back({"a default route owned by a peer takes what nobody else owns", Side::local,
                   on_site(syn(site_host(), ip("172.16.0.1"))), verdict(PT_VERDICT_ENCAPSULATED),
                   route_all_to_alpha});
  cases.push_back({"a default route does not make the whole world the mesh's", Side::local,
                   on_site(syn(ip("172.16.0.1"), ip("172.16.0.2"))), kPass, route_all_to_alpha});
  cases.push_back({"a default route does not make a stranger's source owned", Side::local,
                   on_site(syn(ip("172.16.0.1"), site_host())), drop(PT_DROP_SOURCE_DENIED),
                   route_all_to_alpha});
  cases.push_back({"a malformed packet from the site is dropped", Side::local,
                   ethernet(Network::get().site.mac, Network::get().host, kIpv4, Bytes(8)),
                   drop(PT_DROP_MALFORMED)});
  return cases;
}

TEST_CASE("the site side serves the mesh, and leaves the host what is the host's") {
  run_cases(local_cases());
}

TEST_CASE("a packet between site hosts is routed with one hop less") {
  const TestGateway gateway(mesh_tables());
  const Route route{ip("10.1.0.20"), site_host()};
  const Run run = gateway.local(on_site(tcp_packet(route, 40000, 80, kSyn, {.ttl = 9})));
  REQUIRE(run.end == verdict(PT_VERDICT_ROUTED));
  CHECK(to_hex(run.out) == to_hex(delivered(tcp_packet(route, 40000, 80, kSyn, {.ttl = 8}))));
}

TEST_CASE("a passed packet reaches the host as it came") {
  const TestGateway gateway(mesh_tables());
  const Bytes frame = on_site(syn(site_host(), ip("10.1.0.1")));
  CHECK(gateway.local(frame).out == frame);
  const Bytes other = on_underlay(syn(ip("192.0.2.50"), ip("192.0.2.1")));
  CHECK(gateway.underlay(other).out == other);
}

}  // namespace postern::testing
