// SPDX-License-Identifier: Apache-2.0
// The host port: the gateway's own traffic, and what the kernel finishes (SPEC 1.15).
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kHanded = verdict(PT_VERDICT_HANDED);
const IpAddress kUs = ip("10.1.0.1");
const IpFields kDontFragment{.fragment = 0x4000};

Bytes syn(const IpAddress& from, const IpAddress& to) {
  return tcp_packet({from, to}, 40000, 80, kSyn);
}
Bytes datagram(const IpAddress& from, const IpAddress& to, std::size_t size, const IpFields& fields = {}) {
  return udp_packet({from, to}, 40000, 53, size - 28, fields);
}

PacketCase in(std::string says, const Bytes& packet, End end) {
  return {std::move(says), Side::underlay, from_peer_packet(kAlpha, packet), end, add_host_port};
}
PacketCase out(std::string says, const Bytes& packet, End end) {
  return {std::move(says), Side::local, on_site(packet), end, add_host_port};
}

TestGateway with_host_port() {
  dataplane::Tables tables = mesh_tables();
  add_host_port(tables);
  return TestGateway(tables);
}

// A frame that the kernel sends by its end, and one that it gets there.
Bytes by_host(const Bytes& packet) {
  return ethernet(Network::get().host_port.mac, Network::get().host_port.mac, packet);
}
Run from_host(const TestGateway& gateway, const Bytes& packet) {
  return gateway.run(Side::local, by_host(packet), Network::get().host_port.ifindex);
}

}  // namespace

std::vector<PacketCase> host_port_cases() {
  return {
      in("a mesh host reaches the gateway itself", syn(inside(kAlpha), kUs), kHanded),
      in("by a rule, or not at all", tcp_packet({inside(kAlpha), kUs}, 40000, 22, kSyn),
         drop(PT_DROP_POLICY_DENIED)),
      in("an echo request is answered without the host", icmp_packet({inside(kAlpha), kUs}, 8, 0),
         verdict(PT_VERDICT_REPLIED)),
      in("the host resolves a site neighbour", syn(inside(kAlpha), ip("10.1.0.99")), kHanded),
      in("but not one on an interface of another role", syn(inside(kAlpha), ip("10.1.8.9")),
         drop(PT_DROP_EGRESS_NOT_ALLOWED)),
      in("the host cuts what is too big for the site", datagram(inside(kAlpha), ip("10.1.5.5"), 728),
         kHanded),
      in("and leaves alone what must not be cut",
         datagram(inside(kAlpha), ip("10.1.5.5"), 728, kDontFragment), refused(PT_DROP_TOO_BIG)),
      in("between peers the host cuts nothing", datagram(inside(kAlpha), inside(kBeta), 1451),
         drop(PT_DROP_TOO_BIG)),
      out("the host cuts what is too big for the tunnel", datagram(site_host(), inside(kAlpha), 1451),
          kHanded),
      out("the host resolves an underlay neighbour", syn(site_host(), inside(kSilent)), kHanded),
  };
}

TEST_CASE("what XDP cannot finish, the host's stack does, and nothing else is given to it") {
  run_cases(host_port_cases());
}

TEST_CASE("the host gets a packet as it came, or the tunnel packet to send on") {
  const TestGateway gateway = with_host_port();
  const Bytes own = syn(inside(kAlpha), kUs);
  CHECK(to_hex(gateway.underlay(from_peer_packet(kAlpha, own)).out) == to_hex(by_host(own)));
  const Bytes big = datagram(site_host(), inside(kAlpha), 1451);
  CHECK(to_hex(gateway.local(on_site(big)).out) == to_hex(by_host(big)));

  const Run run = gateway.local(on_site(syn(site_host(), inside(kSilent))));
  const Bytes inner = ethernet(peer_mac(kSilent), our_mac(),
                               tcp_packet({site_host(), inside(kSilent)}, 40000, 80, kSyn, {.ttl = 63}));
  CHECK(to_hex(run.out) == to_hex(by_host(vxlan_packet({our_underlay(), underlay_of(kSilent)},
                                                       load_be16(run.out, 34), kVni, inner))));
}

TEST_CASE("what the host sends is judged as a site host's, and its pieces go with their first one") {
  const TestGateway gateway = with_host_port();
  const Bytes own = syn(kUs, inside(kAlpha));
  const Run sent = from_host(gateway, own);
  REQUIRE(sent.end.text() == verdict(PT_VERDICT_ENCAPSULATED).text());
  CHECK(to_hex(sent.out) ==
        to_hex(encapsulated_packet(kAlpha, tcp_packet({kUs, inside(kAlpha)}, 40000, 80, kSyn, {.ttl = 63}),
                                   load_be16(sent.out, 34))));
  const auto end = [&gateway](const Bytes& packet) { return from_host(gateway, packet).end.text(); };
  CHECK(end(tcp_packet({kUs, inside(kAlpha)}, 40000, 22, kSyn)) == drop(PT_DROP_POLICY_DENIED).text());
  CHECK(end(syn(inside(kBeta), inside(kAlpha))) == drop(PT_DROP_SOURCE_DENIED).text());
  CHECK(end(syn(ip("172.16.0.1"), inside(kAlpha))) == drop(PT_DROP_SOURCE_DENIED).text());
  const Bytes piece =
      ip_packet({site_host(), inside(kAlpha)}, {.protocol = 17, .fragment = 0x0010}, Bytes(64));
  CHECK(end(piece) == verdict(PT_VERDICT_ENCAPSULATED).text());
  CHECK(gateway.local(on_site(piece)).end.text() == drop(PT_DROP_FRAGMENT).text());
  const Bytes foreign =
      ip_packet({inside(kBeta), inside(kAlpha)}, {.protocol = 17, .fragment = 0x0010}, Bytes(64));
  CHECK(end(foreign) == drop(PT_DROP_SOURCE_DENIED).text());
}

TEST_CASE("what came from the host is not given back to it") {
  const TestGateway gateway = with_host_port();
  CHECK(from_host(gateway, syn(kUs, inside(kSilent))).end.text() ==
        drop(PT_DROP_NEIGHBOUR_UNRESOLVED).text());
  CHECK(from_host(gateway, datagram(kUs, inside(kAlpha), 1451)).end.text() == drop(PT_DROP_TOO_BIG).text());
}

}  // namespace postern::testing
