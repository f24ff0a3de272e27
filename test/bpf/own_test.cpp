// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kDenied = drop(PT_DROP_SOURCE_DENIED);
const End kUntunnelled = drop(PT_DROP_UNTUNNELLED);
const End kPass = verdict(PT_VERDICT_PASS);

Bytes syn(const IpAddress& from, const IpAddress& to) {
  return tcp_packet({from, to}, 40000, 80, kSyn);
}

PacketCase inner(std::string says, const IpAddress& from, const IpAddress& to, End end) {
  return {std::move(says), Side::underlay, from_peer_packet(kAlpha, syn(from, to)), end};
}
PacketCase bare(std::string says, std::string_view from, std::string_view to, End end) {
  return {std::move(says), Side::underlay, on_underlay(syn(ip(from), ip(to))), end};
}
PacketCase site(std::string says, const IpAddress& from, const IpAddress& to, End end) {
  return {std::move(says), Side::local, on_site(syn(from, to)), end};
}

void route_all_to_alpha(dataplane::Tables& tables) {
  const pt_owner owner{PT_OWNER_PEER, PT_OWNER_DEFAULT_ROUTE, 2, kAlpha};
  add_owner(tables, kVni, *IpPrefix::parse("0.0.0.0/0"), owner);
}

}  // namespace

std::vector<PacketCase> own_cases() {
  std::vector<PacketCase> cases = {
      inner("a peer may source its own address", inside(kAlpha), site_host(),
            verdict(PT_VERDICT_DECAPSULATED)),
      inner("a peer may source its own IPv6 address", inside6(kAlpha), site_host6(),
            verdict(PT_VERDICT_DECAPSULATED)),
      inner("another peer's address is denied", inside(kBeta), site_host(), kDenied),
      inner("another peer's IPv6 address is denied", inside6(kBeta), site_host6(), kDenied),
      inner("the site's address is denied to a peer", site_host(), site_host(), kDenied),
      inner("an address that nobody owns is denied", ip("172.16.0.1"), site_host(), kDenied),
      inner("an address of a resource that nobody holds is refused", ip("10.20.0.1"), site_host(),
            drop(PT_DROP_UNHELD)),
      bare("a mesh source outside of a tunnel is dropped", "10.2.0.10", "192.0.2.1", kUntunnelled),
      bare("a mesh destination outside of a tunnel is dropped", "192.0.2.50", "10.1.0.10", kUntunnelled),
      bare("a mesh IPv6 source outside of a tunnel is dropped", "fd02::10", "2001:db8::1", kUntunnelled),
      bare("a mesh IPv6 destination outside of a tunnel is dropped", "2001:db8::1", "fd01::10", kUntunnelled),
      bare("a resource's address outside of a tunnel is dropped", "10.20.0.1", "192.0.2.50", kUntunnelled),
      bare("another segment's address outside of a tunnel is dropped", "10.9.0.10", "192.0.2.50",
           kUntunnelled),
      bare("the host's own traffic passes", "192.0.2.50", "192.0.2.1", kPass),
      bare("IPv6 that is not the mesh's passes", "2001:db8::1", "2001:db8::2", kPass),
      site("a site host may not source a peer's address", inside(kAlpha), inside(kBeta), kDenied),
      site("a site host may not spoof a peer to its neighbour", inside(kAlpha), site_host(), kDenied),
      site("a site host may not spoof a peer to the gateway", inside(kAlpha), ip("10.1.0.1"), kDenied),
      site("a site host may not spoof a peer to everybody", inside(kAlpha), ip("224.0.0.251"), kDenied),
      site("a site host may not source the address of a resource that nobody holds", ip("10.20.0.1"),
           inside(kAlpha), drop(PT_DROP_UNHELD)),
      site("an address that nobody owns has no way into the mesh", ip("172.16.0.1"), inside(kAlpha), kDenied),
  };
  cases.push_back({"a fragment from a mesh address is untunnelled too", Side::underlay,
                   on_underlay(ip_packet({ip("10.2.0.10"), ip("192.0.2.50")},
                                         {.protocol = 17, .fragment = 0x2000}, Bytes(64))),
                   kUntunnelled});
  cases.push_back({"options do not hide a mesh address", Side::underlay,
                   on_underlay(ip_packet({ip("192.0.2.50"), ip("10.1.0.10")},
                                         {.protocol = 17, .options = Bytes(4, 1)}, Bytes(64))),
                   kUntunnelled});
  cases.push_back({"two VLAN tags do not hide a mesh address", Side::underlay,
                   tagged(tagged(on_underlay(syn(ip("10.2.0.10"), ip("192.0.2.50"))), 7), 8, 0x88a8),
                   kUntunnelled});
  cases.push_back({"a closed gateway still drops what is untunnelled", Side::underlay,
                   on_underlay(syn(ip("10.2.0.10"), ip("192.0.2.50"))), kUntunnelled,
                   [](dataplane::Tables& tables) { tables.gateway.open = 0; }});
  cases.push_back({"ARP on the underlay passes", Side::underlay,
                   ethernet(mac("ff:ff:ff:ff:ff:ff"), Network::get().router, kArp, Bytes(28)), kPass});
  cases.push_back({"the owner of the default route may source what nobody else owns", Side::underlay,
                   from_peer_packet(kAlpha, syn(ip("172.16.0.1"), site_host())),
                   verdict(PT_VERDICT_DECAPSULATED), route_all_to_alpha});
  cases.push_back({"the default route does not let its owner source another's address", Side::underlay,
                   from_peer_packet(kAlpha, syn(inside(kBeta), site_host())), kDenied, route_all_to_alpha});
  return cases;
}

TEST_CASE("an address has one owner, and nobody else's packet from it passes") {
  run_cases(own_cases());
}

}  // namespace postern::testing
