// SPDX-License-Identifier: Apache-2.0
// Jumbo frames: several buffers a frame, with the headers in the first one, or not (SPEC 1.2).
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

constexpr std::size_t kPayload = 8000;

IpAddress jumbo_host() {
  return ip("10.1.64.10");
}
Bytes jumbo_in(std::uint16_t port = 53) {
  return from_peer_packet(kJumbo, udp_packet({inside(kJumbo), jumbo_host()}, 40000, port, kPayload));
}

}  // namespace

TEST_CASE("a jumbo frame goes through a tunnel in both directions, whole") {
  const TestGateway gateway(mesh_tables());
  const Network& network = Network::get();
  const Route out{jumbo_host(), inside(kJumbo)};
  const Run sent = gateway.run(
      Side::local, ethernet(network.jumbo_site.mac, network.host, udp_packet(out, 40000, 53, kPayload)),
      network.jumbo_site.ifindex);
  REQUIRE(sent.end.text() == verdict(PT_VERDICT_ENCAPSULATED).text());
  const Bytes inner =
      ethernet(peer_mac(kJumbo), our_mac(), udp_packet(out, 40000, 53, kPayload, {.ttl = 63}));
  CHECK(sent.out ==
        ethernet(network.router, network.jumbo_underlay.mac,
                 vxlan_packet({our_underlay(), underlay_of(kJumbo)}, load_be16(sent.out, 34), kVni, inner)));

  const Run got = gateway.run(Side::underlay, jumbo_in(), network.jumbo_underlay.ifindex);
  REQUIRE(got.end.text() == verdict(PT_VERDICT_DECAPSULATED).text());
  CHECK(got.out == ethernet(network.host, network.jumbo_site.mac,
                            udp_packet({inside(kJumbo), jumbo_host()}, 40000, 53, kPayload, {.ttl = 63})));
}

TEST_CASE("headers behind a frame's first buffer are read there") {
  const TestGateway gateway(mesh_tables());
  if (!gateway.can_split()) {
    MESSAGE("this kernel's test runs cannot split a frame; not tested");
    return;
  }
  const std::uint32_t underlay = Network::get().jumbo_underlay.ifindex;
  const auto end_with = [&](const Bytes& frame, std::size_t linear) {
    return gateway.run(Side::underlay, frame, underlay, 0, linear).end.text();
  };
  CHECK(end_with(jumbo_in(), 50 + 14 + 20) == verdict(PT_VERDICT_DECAPSULATED).text());
  CHECK(end_with(jumbo_in(54), 50 + 14 + 20) == drop(PT_DROP_POLICY_DENIED).text());
  CHECK(end_with(jumbo_in(), 50 + 14) == drop(PT_DROP_NOT_LINEAR).text());
  CHECK(end_with(jumbo_in(), 50 + 13) == drop(PT_DROP_NOT_LINEAR).text());
  CHECK(end_with(jumbo_in(), 40) == drop(PT_DROP_NOT_LINEAR).text());
  CHECK(end_with(jumbo_in(), 14) == drop(PT_DROP_NOT_LINEAR).text());
  const Bytes bare = on_underlay(udp_packet({inside(kAlpha), ip("192.0.2.50")}, 1, 2, kPayload));
  CHECK(end_with(bare, 14) == drop(PT_DROP_UNTUNNELLED).text());
}

}  // namespace postern::testing
