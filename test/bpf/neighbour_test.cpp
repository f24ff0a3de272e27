// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kReplied = verdict(PT_VERDICT_REPLIED);
const End kRefused = drop(PT_DROP_NEIGHBOUR_REFUSED);
constexpr std::size_t kSourcePort = 34;

MacAddress everyone() {
  return mac("ff:ff:ff:ff:ff:ff");
}

ArpFields question() {
  return {.operation = 1,
          .sender_mac = peer_mac(kAlpha),
          .sender = inside(kAlpha),
          .target_mac = {},
          .target = ip("10.1.0.1")};
}

Bytes ask(const ArpFields& fields, const MacAddress& to = everyone()) {
  return from_peer(kAlpha, ethernet(to, peer_mac(kAlpha), kArp, arp(fields)));
}

template <class Change>
PacketCase arp_case(std::string says, End end, Change change) {
  ArpFields fields = question();
  change(fields);
  return {std::move(says), Side::underlay, ask(fields), end};
}

MacAddress solicited_node() {
  return mac("33:33:ff:00:00:01");
}

DiscoveryFields solicitation() {
  return {.type = 135, .target = ip("fd01::1"), .flags = 0, .option = 1, .option_mac = peer_mac(kAlpha)};
}

Bytes solicit(const IpAddress& from, const DiscoveryFields& fields, const IpFields& ip_fields = {.ttl = 255},
              const MacAddress& to = solicited_node()) {
  const Bytes packet = discovery_packet({from, ip("ff02::1:ff00:1")}, fields, ip_fields);
  return from_peer(kAlpha, ethernet(to, peer_mac(kAlpha), packet));
}

template <class Change>
PacketCase discovery_case(std::string says, End end, Change change) {
  DiscoveryFields fields = solicitation();
  change(fields);
  return {std::move(says), Side::underlay, solicit(inside6(kAlpha), fields), end};
}

void add_arp(std::vector<PacketCase>& cases) {
  cases.push_back(
      arp_case("a peer's question for the segment's gateway is answered", kReplied, [](auto&) {}));
  cases.push_back({"so is one to our MAC alone", Side::underlay, ask(question(), our_mac()), kReplied});
  cases.push_back(arp_case("a question for another address is refused", kRefused,
                           [](auto& fields) { fields.target = site_host(); }));
  cases.push_back(arp_case("a reply is refused", kRefused, [](auto& fields) { fields.operation = 2; }));
  cases.push_back(
      arp_case("a probe is refused", kRefused, [](auto& fields) { fields.sender = ip("0.0.0.0"); }));
  cases.push_back(arp_case("a question in another's name is refused", kRefused,
                           [](auto& fields) { fields.sender = inside(kBeta); }));
  cases.push_back(arp_case("a question in the gateway's name is refused", kRefused,
                           [](auto& fields) { fields.sender = ip("10.1.0.1"); }));
  cases.push_back(arp_case("a sender MAC that is not the frame's is refused", kRefused,
                           [](auto& fields) { fields.sender_mac = peer_mac(kBeta); }));
  Bytes token_ring = arp(question());
  token_ring.at(1) = 6;
  cases.push_back({"ARP for other hardware is refused", Side::underlay,
                   from_peer(kAlpha, ethernet(everyone(), peer_mac(kAlpha), kArp, token_ring)), kRefused});
  cases.push_back({"ARP cut short is malformed", Side::underlay,
                   from_peer(kAlpha, ethernet(everyone(), peer_mac(kAlpha), kArp, Bytes(27))),
                   drop(PT_DROP_MALFORMED)});
  cases.push_back({"no address of ours, no answer", Side::underlay, ask(question()), kRefused,
                   [](dataplane::Tables& tables) { tables.segments[0].second.gateway4 = {}; }});
  cases.push_back({"a peer without an endpoint gets no answer", Side::underlay, ask(question()),
                   drop(PT_DROP_NO_ROUTE), [](dataplane::Tables& tables) {
                     std::erase_if(tables.endpoints, [](const auto& row) { return row.first == kAlpha; });
                   }});
}

void add_discovery(std::vector<PacketCase>& cases) {
  cases.push_back(
      discovery_case("a peer's solicitation for the gateway is answered", kReplied, [](auto&) {}));
  cases.push_back({"so is one from a link-local source", Side::underlay,
                   solicit(ip("fe80::2"), solicitation()), kReplied});
  cases.push_back({"so is one to our MAC alone", Side::underlay,
                   solicit(inside6(kAlpha), solicitation(), {.ttl = 255}, our_mac()), kReplied});
  cases.push_back(discovery_case("a solicitation for another address is refused", kRefused,
                                 [](auto& fields) { fields.target = site_host6(); }));
  cases.push_back(
      discovery_case("an advertisement is refused", kRefused, [](auto& fields) { fields.type = 136; }));
  cases.push_back(
      discovery_case("a router solicitation is refused", kRefused, [](auto& fields) { fields.type = 133; }));
  cases.push_back(discovery_case("a redirect is refused", kRefused, [](auto& fields) { fields.type = 137; }));
  cases.push_back(discovery_case("a MAC option that is not the frame's is refused", kRefused,
                                 [](auto& fields) { fields.option_mac = peer_mac(kBeta); }));
  cases.push_back(discovery_case("a solicitation without the sender's MAC is refused", kRefused,
                                 [](auto& fields) { fields.option = 14; }));
  cases.push_back({"a solicitation that was forwarded is refused", Side::underlay,
                   solicit(inside6(kAlpha), solicitation(), {.ttl = 254}), kRefused});
  cases.push_back({"duplicate address detection is refused", Side::underlay,
                   solicit(ip("::"), solicitation()), kRefused});
  cases.push_back({"a solicitation from the loopback address is refused", Side::underlay,
                   solicit(ip("::1"), solicitation()), kRefused});
  cases.push_back({"a solicitation in another's name is refused", Side::underlay,
                   solicit(inside6(kBeta), solicitation()), kRefused});
  cases.push_back({"a solicitation from a multicast source is refused", Side::underlay,
                   solicit(ip("ff02::2"), solicitation()), kRefused});
  cases.push_back({"so is one whatever the tables hold", Side::underlay,
                   solicit(ip("ff02::2"), solicitation()), kRefused, [](dataplane::Tables& tables) {
                     add_owner(tables, kVni, *IpPrefix::parse("ff02::/16"), {PT_OWNER_PEER, 0, 1, kAlpha});
                     sort_rows(tables);
                   }});
  cases.push_back({"a solicitation to the broadcast MAC is refused", Side::underlay,
                   solicit(inside6(kAlpha), solicitation(), {.ttl = 255}, everyone()),
                   drop(PT_DROP_INNER_MULTICAST)});
  cases.push_back({"no IPv6 address of ours, no answer", Side::underlay,
                   solicit(inside6(kAlpha),
                           [] {
                             DiscoveryFields fields = solicitation();
                             fields.target = ip("::");
                             return fields;
                           }()),
                   kRefused, [](dataplane::Tables& tables) { tables.segments[0].second.gateway6 = {}; }});
}

Bytes echo(const IpAddress& from, const IpAddress& to, bool reply, std::uint8_t ttl) {
  const unsigned type = from.is_v4() ? (reply ? 0 : 8) : (reply ? 129 : 128);
  return icmp_packet({from, to}, static_cast<std::uint8_t>(type), 0,
                     Bytes{0x12, 0x34, 0, 1, 0xca, 0xfe, 1, 2}, {.ttl = ttl, .tos = 0x20, .id = 77});
}

void add_echo(std::vector<PacketCase>& cases) {
  const IpAddress us = ip("10.1.0.1");
  cases.push_back({"a peer's echo request to the gateway is answered", Side::underlay,
                   from_peer_packet(kAlpha, echo(inside(kAlpha), us, false, 64)), kReplied});
  cases.push_back({"an echo request in another's name is not", Side::underlay,
                   from_peer_packet(kAlpha, echo(inside(kBeta), us, false, 64)),
                   drop(PT_DROP_SOURCE_DENIED)});
  cases.push_back({"without a rule an echo request is not", Side::underlay,
                   from_peer_packet(kAlpha, echo(inside(kAlpha), us, false, 64)), drop(PT_DROP_POLICY_DENIED),
                   [](dataplane::Tables& tables) { tables.policy.clear(); }});
  cases.push_back({"an echo reply to the gateway has no receiver", Side::underlay,
                   from_peer_packet(kAlpha, echo(inside(kAlpha), us, true, 64)), drop(PT_DROP_NO_FIB_ROUTE)});
  cases.push_back({"TCP through a tunnel to the gateway has no receiver", Side::underlay,
                   from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), us}, 40000, 80, kSyn)),
                   drop(PT_DROP_NO_FIB_ROUTE)});
}

Bytes advertisement(const IpAddress& to) {
  return discovery_packet(
      {ip("fd01::1"), to},
      {.type = 136, .target = ip("fd01::1"), .flags = 0xe0000000, .option = 2, .option_mac = our_mac()});
}

}  // namespace

std::vector<PacketCase> neighbour_cases() {
  std::vector<PacketCase> cases;
  add_arp(cases);
  add_discovery(cases);
  add_echo(cases);
  return cases;
}

TEST_CASE("only honest questions for the segment's own address are answered") {
  run_cases(neighbour_cases());
}

TEST_CASE("the ARP answer goes back through the asker's tunnel with our MAC") {
  const TestGateway gateway(mesh_tables());
  const Run run = gateway.underlay(ask(question()));
  REQUIRE(run.end == kReplied);
  const Bytes answer = arp({.operation = 2,
                            .sender_mac = our_mac(),
                            .sender = ip("10.1.0.1"),
                            .target_mac = peer_mac(kAlpha),
                            .target = inside(kAlpha)});
  const Bytes inner = ethernet(peer_mac(kAlpha), our_mac(), kArp, answer);
  CHECK(load_be16(run.out, kSourcePort) >= 49152);
  CHECK(to_hex(run.out) == to_hex(encapsulated(kAlpha, inner, load_be16(run.out, kSourcePort))));
  CHECK(gateway.peer_count(kAlpha).tx.packets == 1);
}

TEST_CASE("the advertisement goes back through the asker's tunnel with a right checksum") {
  const TestGateway gateway(mesh_tables());
  for (const IpAddress& asker : {inside6(kAlpha), ip("fe80::2")}) {
    const Run run = gateway.underlay(solicit(asker, solicitation()));
    REQUIRE(run.end == kReplied);
    const Bytes inner = ethernet(peer_mac(kAlpha), our_mac(), advertisement(asker));
    CHECK(to_hex(run.out) == to_hex(encapsulated(kAlpha, inner, load_be16(run.out, kSourcePort))));
  }
}

TEST_CASE("the echo reply goes back through the asker's tunnel with right checksums") {
  const TestGateway gateway(mesh_tables());
  for (const auto& [asker, us] :
       {std::pair(inside(kAlpha), ip("10.1.0.1")), std::pair(inside6(kAlpha), ip("fd01::1"))}) {
    for (const std::uint8_t ttl : std::initializer_list<std::uint8_t>{1, 64, 255}) {
      const Run run = gateway.underlay(from_peer_packet(kAlpha, echo(asker, us, false, ttl)));
      REQUIRE(run.end == kReplied);
      const Bytes answer = echo(us, asker, true, 64);
      CHECK(to_hex(run.out) ==
            to_hex(encapsulated_packet(kAlpha, answer, load_be16(run.out, kSourcePort), 0x20)));
    }
  }
}

TEST_CASE("further options of a solicitation do not come back") {
  const TestGateway gateway(mesh_tables());
  const Route route{inside6(kAlpha), ip("ff02::1:ff00:1")};
  Bytes rest(4);
  const IpAddress target = ip("fd01::1");
  rest.insert(rest.end(), target.bytes.begin(), target.bytes.end());
  rest.insert(rest.end(), {1, 1});
  const MacAddress asker = peer_mac(kAlpha);
  rest.insert(rest.end(), asker.bytes.begin(), asker.bytes.end());
  rest.insert(rest.end(), {14, 1, 1, 2, 3, 4, 5, 6});  // a nonce, RFC 3971
  const Bytes packet = icmp_packet(route, 135, 0, rest, {.ttl = 255});
  const Run run = gateway.underlay(from_peer(kAlpha, ethernet(solicited_node(), asker, packet)));
  REQUIRE(run.end == kReplied);
  const Bytes inner = ethernet(asker, our_mac(), advertisement(inside6(kAlpha)));
  CHECK(to_hex(run.out) == to_hex(encapsulated(kAlpha, inner, load_be16(run.out, kSourcePort))));
}

}  // namespace postern::testing
