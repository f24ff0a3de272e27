// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>

#include <memory>
#include <thread>

#include "packet_case.h"

namespace postern::testing {
namespace {

Bytes syn(const IpAddress& from, const IpAddress& to, std::uint8_t ttl = 64, std::uint8_t tos = 0) {
  return tcp_packet({from, to}, 40000, 80, kSyn, {.ttl = ttl, .tos = tos, .id = 0xfffe});
}

const IpFields kDontFragment{.fragment = 0x4000};

PacketCase in(std::string says, const IpAddress& to, End end) {
  return {std::move(says), Side::underlay, from_peer_packet(kAlpha, syn(inside(kAlpha), to)), end};
}
PacketCase out(std::string says, const IpAddress& to, End end) {
  return {std::move(says), Side::local, on_site(syn(site_host(), to)), end};
}
PacketCase relay(std::string says, Who from, Who to, End end) {
  return {std::move(says), Side::underlay, from_peer_packet(from, syn(inside(from), inside(to))), end};
}

void add_ways_in(std::vector<PacketCase>& cases) {
  const End egress = drop(PT_DROP_EGRESS_NOT_ALLOWED);
  cases.push_back(in("a resource that nobody holds gets nothing", ip("10.20.0.1"), drop(PT_DROP_UNHELD)));
  cases.push_back(in("an address that nobody owns has no route", ip("172.16.0.1"), drop(PT_DROP_NO_ROUTE)));
  cases.push_back(
      in("a site address without a kernel route is dropped", ip("10.1.77.1"), drop(PT_DROP_NO_FIB_ROUTE)));
  cases.push_back(in("an interface that no configuration names gets nothing", ip("10.1.7.7"), egress));
  cases.push_back(in("a withdrawn site route does not leak to the underlay", ip("10.1.8.8"), egress));
  cases.push_back(in("a route into another segment is refused", ip("10.1.9.9"), egress));
  cases.push_back({"TTL 1 ends here", Side::underlay,
                   from_peer_packet(kAlpha, syn(inside(kAlpha), site_host(), 1)),
                   refused(PT_DROP_TTL_EXCEEDED)});
  cases.push_back({"TTL 0 ends here", Side::underlay,
                   from_peer_packet(kAlpha, syn(inside(kAlpha), site_host(), 0)),
                   refused(PT_DROP_TTL_EXCEEDED)});
  cases.push_back({"hop limit 1 ends here", Side::underlay,
                   from_peer_packet(kAlpha, syn(inside6(kAlpha), site_host6(), 1)),
                   refused(PT_DROP_TTL_EXCEEDED)});
  cases.push_back(
      {"what does not fit the site's MTU is dropped", Side::underlay,
       from_peer_packet(kAlpha, udp_packet({inside(kAlpha), ip("10.1.5.5")}, 40000, 53, 700, kDontFragment)),
       refused(PT_DROP_TOO_BIG)});
}

void add_ways_out(std::vector<PacketCase>& cases) {
  cases.push_back(out("an address that nobody owns has no route from the site", ip("172.16.0.1"),
                      drop(PT_DROP_NO_ROUTE)));
  cases.push_back(
      out("a resource that nobody holds gets nothing from the site", ip("10.20.0.1"), drop(PT_DROP_UNHELD)));
  cases.push_back(out("a revoked peer gets nothing", inside(kRevoked), drop(PT_DROP_PEER_REVOKED)));
  cases.push_back(out("an expired peer gets nothing", inside(kExpired), drop(PT_DROP_PEER_EXPIRED)));
  cases.push_back(out("a peer without a MAC gets nothing", inside(kMacless), drop(PT_DROP_PEER_MAC_UNKNOWN)));
  cases.push_back(
      out("a peer outside of the segment gets nothing", inside(kElsewhere), drop(PT_DROP_NO_ROUTE)));
  cases.push_back(out("an underlay neighbour that is not resolved is a counted drop", inside(kSilent),
                      drop(PT_DROP_NEIGHBOUR_UNRESOLVED)));
  cases.push_back(out("an underlay address without a route is a counted drop", inside(kUnroutable),
                      drop(PT_DROP_NO_FIB_ROUTE)));
  cases.push_back(
      out("a tunnel does not leave by a site interface", inside(kLeaky), drop(PT_DROP_EGRESS_NOT_ALLOWED)));
  cases.push_back({"a peer without an endpoint has no route", Side::local,
                   on_site(syn(site_host(), inside(kBeta))), drop(PT_DROP_NO_ROUTE),
                   [](dataplane::Tables& tables) {
                     std::erase_if(tables.endpoints, [](const auto& row) { return row.first == kBeta; });
                   }});
  cases.push_back({"a tunnel has both ends in one family", Side::local,
                   on_site(syn(site_host(), inside(kAlpha))), drop(PT_DROP_NO_FIB_ROUTE),
                   [](dataplane::Tables& tables) {
                     endpoint_row(tables, kAlpha).local = table_address(our_underlay6());
                   }});
  cases.push_back({"TTL 1 does not enter a tunnel", Side::local, on_site(syn(site_host(), inside(kAlpha), 1)),
                   refused(PT_DROP_TTL_EXCEEDED)});
  cases.push_back({"what does not fit the tunnel is dropped", Side::local,
                   on_site(udp_packet({site_host(), inside(kAlpha)}, 40000, 53, 1472, kDontFragment)),
                   refused(PT_DROP_TOO_BIG)});
  cases.push_back({"what just fits the tunnel is sent", Side::local,
                   on_site(udp_packet({site_host(), inside(kAlpha)}, 40000, 53, 1500 - 50 - 28)),
                   verdict(PT_VERDICT_ENCAPSULATED)});
  cases.push_back(
      {"a byte more does not", Side::local,
       on_site(udp_packet({site_host(), inside(kAlpha)}, 40000, 53, 1501 - 50 - 28, kDontFragment)),
       refused(PT_DROP_TOO_BIG)});
  cases.push_back({"nobody is told who did not ask to be", Side::local,
                   on_site(udp_packet({site_host(), inside(kAlpha)}, 40000, 53, 1501 - 50 - 28)),
                   drop(PT_DROP_TOO_BIG)});
}

void add_relays(std::vector<PacketCase>& cases) {
  const End relayed = verdict(PT_VERDICT_RELAYED);
  const End refused = drop(PT_DROP_RELAY_REFUSED);
  cases.push_back(relay("a peer reaches another peer", kAlpha, kBeta, relayed));
  cases.push_back(relay("a peer reaches a gateway", kAlpha, kGatewayC, relayed));
  cases.push_back(relay("a gateway reaches a peer", kGatewayC, kBeta, relayed));
  cases.push_back(relay("a gateway's packet goes to no other gateway", kGatewayC, kGatewayD, refused));
  cases.push_back(relay("a packet does not go back to its sender", kAlpha, kAlpha, refused));
  cases.push_back(relay("a revoked peer is not relayed to", kAlpha, kRevoked, drop(PT_DROP_PEER_REVOKED)));
}

}  // namespace

std::vector<PacketCase> steer_cases() {
  std::vector<PacketCase> cases;
  add_ways_in(cases);
  add_ways_out(cases);
  add_relays(cases);
  return cases;
}

TEST_CASE("every packet goes where its owner is, by an interface of the right role and segment, or nowhere") {
  run_cases(steer_cases());
}

TEST_CASE("a packet out of a tunnel reaches the site with one hop less and all else unchanged") {
  const TestGateway gateway(mesh_tables());
  for (const auto& [from, to] :
       {std::pair(inside(kAlpha), site_host()), std::pair(inside6(kAlpha), site_host6())}) {
    for (const std::uint8_t ttl : std::initializer_list<std::uint8_t>{2, 64, 255}) {
      const Run run = gateway.underlay(from_peer_packet(kAlpha, syn(from, to, ttl, 0xb8)));
      REQUIRE(run.end == verdict(PT_VERDICT_DECAPSULATED));
      CHECK(to_hex(run.out) == to_hex(delivered(syn(from, to, static_cast<std::uint8_t>(ttl - 1), 0xb8))));
    }
  }
}

TEST_CASE("the header checksum stays right whatever it was") {
  const TestGateway gateway(mesh_tables());
  for (unsigned id = 0; id < 0x10000; id += 251) {
    const Route route{inside(kAlpha), site_host()};
    const IpFields fields{.ttl = 200, .id = static_cast<std::uint16_t>(id)};
    const Run run = gateway.underlay(from_peer_packet(kAlpha, tcp_packet(route, 40000, 80, kSyn, fields)));
    REQUIRE(run.end == verdict(PT_VERDICT_DECAPSULATED));
    CHECK(internet_sum(ByteView(run.out).subspan(14, 20)) == 0xffff);
  }
}

TEST_CASE("a relayed packet leaves in a new tunnel, as from us, with one hop less") {
  const TestGateway gateway(mesh_tables());
  for (const auto& [from, to] :
       {std::pair(inside(kAlpha), inside(kBeta)), std::pair(inside6(kAlpha), inside6(kBeta))}) {
    const Run run = gateway.underlay(from_peer_packet(kAlpha, syn(from, to, 64, 0x28)));
    REQUIRE(run.end == verdict(PT_VERDICT_RELAYED));
    const std::uint16_t port = load_be16(run.out, 34);
    CHECK(to_hex(run.out) == to_hex(encapsulated_packet(kBeta, syn(from, to, 63, 0x28), port, 0x28)));
  }
  CHECK(gateway.peer_count(kAlpha).rx.packets == 2);
  CHECK(gateway.peer_count(kAlpha).tx.packets == 0);
  CHECK(gateway.peer_count(kBeta).tx.packets == 2);
}

TEST_CASE("a next hop that is not resolved is asked for, once a second") {
  const TestGateway gateway(mesh_tables());
  std::vector<pt_event> asked;
  const auto take = [](void* context, void* data, std::size_t) {
    static_cast<std::vector<pt_event>*>(context)->push_back(*static_cast<pt_event*>(data));
    return 0;
  };
  const std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> ring(
      ::ring_buffer__new(gateway.plane().map_fd("events"), take, &asked, nullptr), ::ring_buffer__free);
  REQUIRE(ring != nullptr);
  const End unresolved = drop(PT_DROP_NEIGHBOUR_UNRESOLVED);
  const Bytes packet = from_peer_packet(kAlpha, syn(inside(kAlpha), ip("10.1.0.99")));
  const Bytes packet6 = from_peer_packet(kAlpha, syn(inside6(kAlpha), ip("fd01::99")));
  for (int i = 0; i < 5; ++i) {
    CHECK(gateway.underlay(packet).end == unresolved);
    CHECK(gateway.underlay(packet6).end == unresolved);
  }
  ::ring_buffer__consume(ring.get());
  REQUIRE(asked.size() == 2);
  for (const auto& [event, address] : {std::pair(asked[0], "10.1.0.99"), std::pair(asked[1], "fd01::99")}) {
    CHECK(event.type == PT_EVENT_NEIGHBOUR_WANTED);
    CHECK(event.ifindex == Network::get().site.ifindex);
    CHECK(std::ranges::equal(event.address.bytes, ip(address).bytes));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  CHECK(gateway.underlay(packet).end == unresolved);
  ::ring_buffer__consume(ring.get());
  CHECK(asked.size() == 3);
}

TEST_CASE("an interface outside of the role's devmap gets nothing, though the port is known") {
  const TestGateway gateway(mesh_tables());
  const std::uint32_t site = Network::get().site.ifindex;
  const std::uint32_t underlay = Network::get().underlay.ifindex;
  REQUIRE(::bpf_map_delete_elem(gateway.plane().map_fd("egress_local"), &site) == 0);
  REQUIRE(::bpf_map_delete_elem(gateway.plane().map_fd("egress_underlay"), &underlay) == 0);
  const End refused = drop(PT_DROP_EGRESS_NOT_ALLOWED);
  CHECK(gateway.underlay(from_peer_packet(kAlpha, syn(inside(kAlpha), site_host()))).end == refused);
  CHECK(gateway.local(on_site(syn(site_host(), inside(kAlpha)))).end == refused);
  CHECK(gateway.peer_count(kAlpha).tx.packets == 0);
}

}  // namespace postern::testing
