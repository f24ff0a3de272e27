// SPDX-License-Identifier: Apache-2.0
// Tunnels over IPv6, with inner packets of both families (SPEC 1.8).
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

constexpr std::size_t kSourcePort = 54;  // of the outer UDP header

// A real outer checksum: over the pseudo header and everything behind it, as a receiver sums it.
bool outer_checksum_holds(const Bytes& frame) {
  const ByteView packet = ByteView(frame).subspan(14);
  const std::uint32_t seed =
      internet_sum(packet.subspan(8, 32)) + 17u + static_cast<std::uint32_t>(packet.size() - 40);
  return load_be16(frame, 14 + 40 + 6) != 0 && internet_sum(packet.subspan(40), seed) == 0xffff;
}

}  // namespace

TEST_CASE("over IPv6 a peer is admitted by all of its address") {
  const TestGateway gateway(mesh_tables());
  const Bytes inner = inner_frame(kSixth, tcp_packet({inside(kSixth), site_host()}, 40000, 80, kSyn));
  CHECK(gateway.underlay(from_peer(kSixth, inner)).end == verdict(PT_VERDICT_DECAPSULATED));
  for (const char* near : {"2001:db8::f", "2001:db8:0:0:1::e", "2001:db9::e"}) {
    const Bytes frame = on_underlay(vxlan_packet({ip(near), our_underlay6()}, 50000, kVni, inner));
    CHECK(gateway.underlay(frame).end == drop(PT_DROP_PEER_UNKNOWN));
  }
}

TEST_CASE("both families travel over IPv6, and the outer checksum is real whatever is inside") {
  const TestGateway gateway(mesh_tables());
  const Route four{site_host(), inside(kSixth)};
  const Route six{site_host6(), inside6(kSixth)};
  Bytes no_checksum = udp(four, 40000, 53, 100);
  store_be16(no_checksum, 6, 0);
  const auto send = [&](const std::function<Bytes(std::uint8_t)>& packet_with_ttl) {
    const Run run = gateway.local(on_site(packet_with_ttl(64)));
    REQUIRE(run.end.text() == verdict(PT_VERDICT_ENCAPSULATED).text());
    CHECK(outer_checksum_holds(run.out));
    CHECK(to_hex(run.out) ==
          to_hex(encapsulated_packet(kSixth, packet_with_ttl(63), load_be16(run.out, kSourcePort))));
  };
  for (const Route& route : {four, six}) {
    for (const std::size_t size : {0u, 1u, 7u, 512u, 1001u, 1380u}) {
      CAPTURE(size);
      send([&](std::uint8_t ttl) { return udp_packet(route, 40000, 53, size, {.ttl = ttl}); });
    }
    send([&](std::uint8_t ttl) { return tcp_packet(route, 40000, 80, kSyn, {.ttl = ttl}); });
    send([&](std::uint8_t ttl) {
      return icmp_packet(route, route.from.is_v4() ? 8 : 128, 0, Bytes(33, 0xa5), {.ttl = ttl});
    });
  }
  send([&](std::uint8_t ttl) { return ip_packet(four, {.protocol = 17, .ttl = ttl}, no_checksum); });
  send([&](std::uint8_t ttl) {
    return tcp_packet(four, 40000, 80, kSyn, {.ttl = ttl, .options = Bytes(8, 1)});
  });
  const Bytes whole = udp(four, 40000, 53, 2000);
  send([&](std::uint8_t ttl) {
    return ip_packet(four, {.protocol = 17, .ttl = ttl, .fragment = 0x2000},
                     Bytes(whole.begin(), whole.begin() + 808));
  });
}

TEST_CASE("padding behind a short packet is under the outer checksum too") {
  const TestGateway gateway(mesh_tables());
  Bytes frame = on_site(udp_packet({site_host(), inside(kSixth)}, 40000, 53, 0));
  frame.resize(61, 0x77);
  const Run run = gateway.local(frame);
  REQUIRE(run.end.text() == verdict(PT_VERDICT_ENCAPSULATED).text());
  CHECK(outer_checksum_holds(run.out));
}

TEST_CASE("questions over an IPv6 underlay are answered with a real checksum") {
  const TestGateway gateway(mesh_tables());
  const Run run =
      gateway.underlay(from_peer_packet(kSixth, icmp_packet({inside(kSixth), ip("10.1.0.1")}, 8, 0)));
  REQUIRE(run.end.text() == verdict(PT_VERDICT_REPLIED).text());
  CHECK(outer_checksum_holds(run.out));
}

TEST_CASE("between an IPv4 and an IPv6 peer packets are relayed") {
  const TestGateway gateway(mesh_tables());
  const auto packet = [](Who from, Who to, std::uint8_t ttl) {
    return tcp_packet({inside(from), inside(to)}, 40000, 80, kSyn, {.ttl = ttl});
  };
  const Run there = gateway.underlay(from_peer_packet(kAlpha, packet(kAlpha, kSixth, 64)));
  REQUIRE(there.end.text() == verdict(PT_VERDICT_RELAYED).text());
  CHECK(to_hex(there.out) ==
        to_hex(encapsulated_packet(kSixth, packet(kAlpha, kSixth, 63), load_be16(there.out, kSourcePort))));
  const Run back = gateway.underlay(from_peer_packet(kSixth, packet(kSixth, kAlpha, 64)));
  REQUIRE(back.end.text() == verdict(PT_VERDICT_RELAYED).text());
  CHECK(to_hex(back.out) ==
        to_hex(encapsulated_packet(kAlpha, packet(kSixth, kAlpha, 63), load_be16(back.out, 34))));
}

}  // namespace postern::testing
