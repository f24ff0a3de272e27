// SPDX-License-Identifier: Apache-2.0
// ICMP errors that the gateway sends: what is in them, and when it does not (SPEC 1.7).
#include <bpf/bpf.h>
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

const IpFields kDontFragment{.fragment = 0x4000};
const IpAddress kUs = ip("10.1.0.1");
const IpAddress kUs6 = ip("fd01::1");

Bytes quote(std::uint32_t rest, const Bytes& packet, std::size_t most) {
  Bytes out = {0, 0, static_cast<std::uint8_t>(rest >> 8), static_cast<std::uint8_t>(rest)};
  out.insert(out.end(), packet.begin(),
             packet.begin() + static_cast<std::ptrdiff_t>(std::min(most, packet.size())));
  return out;
}

Bytes error4(std::uint8_t type, std::uint8_t code, std::uint32_t rest, const IpAddress& to,
             const Bytes& packet) {
  return icmp_packet({kUs, to}, type, code, quote(rest, packet, 548), kDontFragment);
}
Bytes error6(std::uint8_t type, std::uint32_t rest, const IpAddress& to, const Bytes& packet) {
  return icmp_packet({kUs6, to}, type, 0, quote(rest, packet, 1232));
}

// What a peer gets: the error in a tunnel. And what a site host gets.
Bytes to_peer(const Run& run, const Bytes& error) {
  return encapsulated_packet(kAlpha, error, load_be16(run.out, 34));
}
Bytes to_site(const Bytes& error) {
  return delivered(error);
}

std::uint64_t incident(const TestGateway& gateway, pt_incident which) {
  return gateway.incidents()[which];
}

}  // namespace

TEST_CASE("a hop limit that is used up comes back as time exceeded, through the tunnel and into the site") {
  const TestGateway gateway(mesh_tables());
  for (const std::size_t payload : {8u, 9u, 547u, 1200u}) {
    CAPTURE(payload);
    const Bytes in = udp_packet({inside(kAlpha), site_host()}, 40000, 53, payload, {.ttl = 1, .tos = 4});
    const Run run = gateway.underlay(from_peer_packet(kAlpha, in));
    REQUIRE(run.end.text() == refused(PT_DROP_TTL_EXCEEDED).text());
    CHECK(to_hex(run.out) == to_hex(to_peer(run, error4(11, 0, 0, inside(kAlpha), in))));

    const Bytes out = udp_packet({site_host6(), inside6(kAlpha)}, 40000, 53, payload, {.ttl = 1});
    const Run run6 = gateway.local(on_site(out));
    REQUIRE(run6.end.text() == refused(PT_DROP_TTL_EXCEEDED).text());
    CHECK(to_hex(run6.out) == to_hex(to_site(error6(3, 0, site_host6(), out))));
  }
  CHECK(incident(gateway, PT_INCIDENT_ICMP_SENT) == 8);
}

TEST_CASE("what does not fit comes back with the MTU that would have") {
  const TestGateway gateway(mesh_tables());
  const Bytes out = udp_packet({site_host(), inside(kAlpha)}, 40000, 53, 1472, kDontFragment);
  const Run run = gateway.local(on_site(out));
  REQUIRE(run.end.text() == refused(PT_DROP_TOO_BIG).text());
  CHECK(to_hex(run.out) == to_hex(to_site(error4(3, 4, 1450, site_host(), out))));

  const Bytes out6 = udp_packet({site_host6(), inside6(kAlpha)}, 40000, 53, 1450);
  const Run run6 = gateway.local(on_site(out6));
  REQUIRE(run6.end.text() == refused(PT_DROP_TOO_BIG).text());
  CHECK(to_hex(run6.out) == to_hex(to_site(error6(2, 1450, site_host6(), out6))));

  const Bytes in = udp_packet({inside(kAlpha), ip("10.1.5.5")}, 40000, 53, 700, kDontFragment);
  const Run back = gateway.underlay(from_peer_packet(kAlpha, in));
  REQUIRE(back.end.text() == refused(PT_DROP_TOO_BIG).text());
  CHECK(to_hex(back.out) == to_hex(to_peer(back, error4(3, 4, 600, inside(kAlpha), in))));
}

TEST_CASE("the MTU that is told is the one that passes, for tunnels over both families") {
  const TestGateway gateway(mesh_tables());
  for (const auto& [peer, mtu] : {std::pair(kAlpha, 1450u), std::pair(kSixth, 1430u)}) {
    const auto send = [&, to = inside(peer)](std::size_t size) {
      return gateway.local(on_site(udp_packet({site_host(), to}, 40000, 53, size - 28, kDontFragment))).end;
    };
    CHECK(send(mtu) == verdict(PT_VERDICT_ENCAPSULATED));
    CHECK(send(mtu + 1) == refused(PT_DROP_TOO_BIG));
  }
}

TEST_CASE("about some packets nobody is told") {
  const TestGateway gateway(mesh_tables());
  const End silent = drop(PT_DROP_TTL_EXCEEDED);
  const Bytes about = tcp_packet({site_host(), inside(kAlpha)}, 40000, 80, kSyn);
  const Bytes error = icmp_packet({ip("172.30.0.1"), site_host()}, 3, 1, quote(0, about, 28), {.ttl = 1});
  CHECK(gateway.underlay(from_peer_packet(kAlpha, error)).end.text() == silent.text());
  TestGateway nameless(mesh_tables());
  dataplane::Tables tables = mesh_tables();
  for (auto& [vni, segment] : tables.segments)
    segment.gateway4 = {};
  nameless.adopt(tables);
  const Bytes late = tcp_packet({inside(kAlpha), site_host()}, 40000, 80, kSyn, {.ttl = 1});
  CHECK(nameless.underlay(from_peer_packet(kAlpha, late)).end.text() == silent.text());
}

TEST_CASE("a flood of packets that expire does not become a flood of errors") {
  const TestGateway gateway(mesh_tables());
  const Bytes late =
      from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), site_host()}, 40000, 80, kSyn, {.ttl = 1}));
  constexpr unsigned kSent = 3000;
  for (unsigned i = 0; i < kSent; ++i) {
    const End end = gateway.underlay(late).end;
    CHECK(end.code == -PT_DROP_TTL_EXCEEDED);
  }
  const std::uint64_t sent = incident(gateway, PT_INCIDENT_ICMP_SENT);
  CHECK(sent >= PT_ICMP_BURST);
  CHECK(incident(gateway, PT_INCIDENT_ICMP_LIMITED) > 0);
  CHECK(sent + incident(gateway, PT_INCIDENT_ICMP_LIMITED) == kSent);
}

}  // namespace postern::testing
