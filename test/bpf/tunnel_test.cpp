// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>

#include "packet_case.h"

namespace postern::testing {
namespace {

constexpr std::size_t kSourcePort = 34;  // of the outer UDP header

Bytes syn(const IpAddress& from, const IpAddress& to, std::uint16_t source_port, std::uint8_t ttl = 64,
          std::uint8_t tos = 0) {
  return tcp_packet({from, to}, source_port, 80, kSyn, {.ttl = ttl, .tos = tos});
}

}  // namespace

TEST_CASE("a packet into a tunnel is well-formed VXLAN around the packet with one hop less") {
  const TestGateway gateway(mesh_tables());
  for (const auto& [from, to] :
       {std::pair(site_host(), inside(kAlpha)), std::pair(site_host6(), inside6(kAlpha))}) {
    for (const std::uint8_t tos : std::initializer_list<std::uint8_t>{0x00, 0x01, 0xb8}) {
      const Run run = gateway.local(on_site(syn(from, to, 40000, 64, tos)));
      REQUIRE(run.end == verdict(PT_VERDICT_ENCAPSULATED));
      const std::uint16_t port = load_be16(run.out, kSourcePort);
      CHECK(port >= 49152);
      CHECK(to_hex(run.out) == to_hex(encapsulated_packet(kAlpha, syn(from, to, 40000, 63, tos), port, tos)));
      CHECK(internet_sum(ByteView(run.out).subspan(14, 20)) == 0xffff);
    }
  }
  const pt_peer_count count = gateway.peer_count(kAlpha);
  CHECK(count.tx.packets == 6);
  CHECK(count.tx.bytes == 3 * (on_site(syn(site_host(), inside(kAlpha), 1)).size() + 50) +
                              3 * (on_site(syn(site_host6(), inside6(kAlpha), 1)).size() + 50));
}

TEST_CASE("a flow keeps its outer source port, and flows spread over many") {
  const TestGateway gateway(mesh_tables());
  std::set<std::uint16_t> ports;
  for (std::uint16_t source_port = 20000; source_port < 20064; ++source_port) {
    const Bytes frame = on_site(syn(site_host(), inside(kAlpha), source_port));
    const std::uint16_t port = load_be16(gateway.local(frame).out, kSourcePort);
    CHECK(load_be16(gateway.local(frame).out, kSourcePort) == port);
    ports.insert(port);
  }
  CHECK(ports.size() > 55);
}

TEST_CASE("Ethernet padding behind a short packet does no harm") {
  const TestGateway gateway(mesh_tables());
  Bytes frame = on_site(syn(site_host(), inside(kAlpha), 40000));
  frame.resize(60);
  const Run run = gateway.local(frame);
  REQUIRE(run.end == verdict(PT_VERDICT_ENCAPSULATED));
  CHECK(load_be16(run.out, 14 + 2) == run.out.size() - 14);
  CHECK(load_be16(run.out, 14 + 20 + 4) == run.out.size() - 34);
}

TEST_CASE("a frame without room for tunnel headers in front is a counted drop") {
  const TestGateway gateway(mesh_tables());
  const Bytes frame = on_site(syn(site_host(), inside(kAlpha), 40000));
  const std::uint32_t site = Network::get().site.ifindex;
  CHECK(gateway.run(Side::local, frame, site, 32).end == verdict(PT_VERDICT_ENCAPSULATED));
  if (!gateway.can_take(200)) {
    MESSAGE("this kernel's test runs cannot take so much headroom; not tested");
    return;
  }
  CHECK(gateway.run(Side::local, frame, site, 200).end == drop(PT_DROP_NO_HEADROOM));
}

}  // namespace postern::testing
