// SPDX-License-Identifier: Apache-2.0
// Path MTU of the underlay, learnt from its routers, and TCP's segment size (SPEC 1.8).
#include <bpf/bpf.h>
#include <doctest/doctest.h>

#include <thread>

#include "packet_case.h"

namespace postern::testing {
namespace {

const IpFields kDontFragment{.fragment = 0x4000};

// "Too big" from a router of the underlay about a packet of the given ports.
Bytes too_big(Who about, std::uint32_t mtu, std::uint16_t port = PT_VXLAN_PORT) {
  const IpAddress to = underlay_of(about);
  const IpAddress us = to.is_v4() ? our_underlay() : our_underlay6();
  const Bytes sent = udp_packet({us, to}, 50000, port, 1000);
  Bytes rest = {0, 0, static_cast<std::uint8_t>(mtu >> 8), static_cast<std::uint8_t>(mtu)};
  rest.insert(rest.end(), sent.begin(), sent.begin() + (to.is_v4() ? 28 : 48));
  return on_underlay(to.is_v4() ? icmp_packet({ip("192.0.2.77"), us}, 3, 4, rest)
                                : icmp_packet({ip("2001:db8::77"), us}, 2, 0, rest));
}

bool fits(const TestGateway& gateway, Who who, std::size_t size) {
  const End end =
      gateway.local(on_site(udp_packet({site_host(), inside(who)}, 40000, 53, size - 28, kDontFragment))).end;
  CHECK((end == verdict(PT_VERDICT_ENCAPSULATED) || end == refused(PT_DROP_TOO_BIG)));
  return end == verdict(PT_VERDICT_ENCAPSULATED);
}

void set_path_mtu(const TestGateway& gateway, Who who, const pt_path_mtu& row) {
  const std::uint32_t key = who;
  REQUIRE(::bpf_map_update_elem(gateway.plane().map_fd("path_mtus"), &key, &row, BPF_ANY) == 0);
}

std::uint32_t now_s() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint32_t>(now.tv_sec);
}

Bytes with_options(const Route& route, std::uint8_t flags, const Bytes& options) {
  Bytes segment = tcp(route, 40000, 80, flags, options.size());
  std::ranges::copy(options, segment.begin() + 20);
  segment[12] = static_cast<std::uint8_t>((20 + options.size()) / 4 << 4);
  return segment;
}

}  // namespace

TEST_CASE("an underlay router's too big lowers the peer's path MTU, and is the host's business too") {
  const TestGateway gateway(mesh_tables());
  for (const auto& [peer, overhead] : {std::pair(kAlpha, 50u), std::pair(kSixth, 70u)}) {
    CHECK(fits(gateway, peer, 1500 - overhead));
    CHECK(gateway.underlay(too_big(peer, 1400)).end == verdict(PT_VERDICT_PASS));
    CHECK(fits(gateway, peer, 1400 - overhead));
    CHECK_FALSE(fits(gateway, peer, 1401 - overhead));
  }
  CHECK(fits(gateway, kBeta, 1450));
  CHECK(gateway.incidents()[PT_INCIDENT_PATH_MTU_LOWERED] == 2);
}

TEST_CASE(
    "at path MTUs of 1280, 1500 and 9000 a packet of the tunnel's MTU passes, and one byte more does not") {
  dataplane::Tables tables = mesh_tables();
  add_host_port(tables);
  const TestGateway gateway(tables);
  const Network& network = Network::get();
  set_path_mtu(gateway, kAlpha, {1280, now_s()});
  set_path_mtu(gateway, kJumbo, {9000, now_s()});
  for (const auto& [peer, path] :
       {std::pair(kAlpha, 1280u), std::pair(kBeta, 1500u), std::pair(kJumbo, 9000u)}) {
    const Interface& port = peer == kJumbo ? network.jumbo_site : network.site;
    const auto end = [&, peer = peer](const Route& route, std::size_t size, const IpFields& fields = {}) {
      const std::size_t headers = route.from.is_v4() ? 28 : 48;
      const Bytes packet = udp_packet(route, 40000, 53, size - headers, fields);
      return gateway.run(Side::local, ethernet(port.mac, network.host, packet), port.ifindex).end.text();
    };
    const Route four{peer == kJumbo ? ip("10.1.64.10") : site_host(), inside(peer)};
    const Route six{site_host6(), inside6(peer)};
    CHECK(end(four, path - 50, kDontFragment) == verdict(PT_VERDICT_ENCAPSULATED).text());
    CHECK(end(four, path - 49, kDontFragment) == refused(PT_DROP_TOO_BIG).text());
    CHECK(end(four, path - 50) == verdict(PT_VERDICT_ENCAPSULATED).text());
    CHECK(end(four, path - 49) == verdict(PT_VERDICT_HANDED).text());
    CHECK(end(six, path - 50) == verdict(PT_VERDICT_ENCAPSULATED).text());
    CHECK(end(six, path - 49) == refused(PT_DROP_TOO_BIG).text());
  }
}

TEST_CASE("a path MTU is never raised by a report, nor lowered beneath the floor, nor twice in a second") {
  const TestGateway gateway(mesh_tables());
  gateway.underlay(too_big(kAlpha, 100));
  CHECK(fits(gateway, kAlpha, PT_PATH_MTU_FLOOR - 50));
  set_path_mtu(gateway, kAlpha, {1400, now_s() - 5});
  gateway.underlay(too_big(kAlpha, 1450));
  CHECK_FALSE(fits(gateway, kAlpha, 1401 - 50));
  CHECK(gateway.incidents()[PT_INCIDENT_PATH_MTU_REFUSED] == 1);
  set_path_mtu(gateway, kAlpha, {1400, now_s() + 1});
  std::this_thread::sleep_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(1100));
  set_path_mtu(gateway, kAlpha, {1400, now_s()});
  gateway.underlay(too_big(kAlpha, 1300));
  const bool still = fits(gateway, kAlpha, 1400 - 50);
  const std::uint64_t refused_now = gateway.incidents()[PT_INCIDENT_PATH_MTU_REFUSED];
  CHECK(still == (refused_now == 2));  // a second may have ended in between
  set_path_mtu(gateway, kAlpha, {1400, now_s() - 5});
  gateway.underlay(too_big(kAlpha, 1300));
  CHECK_FALSE(fits(gateway, kAlpha, 1301 - 50));
}

TEST_CASE("what was learnt of a path is forgotten after ten minutes") {
  const TestGateway gateway(mesh_tables());
  set_path_mtu(gateway, kAlpha, {1400, now_s() - PT_PATH_MTU_FORGET_S + 5});
  CHECK_FALSE(fits(gateway, kAlpha, 1450));
  set_path_mtu(gateway, kAlpha, {1400, now_s() - PT_PATH_MTU_FORGET_S - 1});
  CHECK(fits(gateway, kAlpha, 1450));
}

TEST_CASE("reports that are not about a tunnel of ours to an active peer teach nothing") {
  const TestGateway gateway(mesh_tables());
  gateway.underlay(too_big(kAlpha, 1400, 53));
  gateway.underlay(too_big(kRevoked, 1400));
  gateway.underlay(too_big(kAlpha, 0));
  Bytes others = too_big(kAlpha, 1400);
  others[14 + 20 + 8 + 15] = 9;  // quoted source: not us
  gateway.underlay(others);
  CHECK(fits(gateway, kAlpha, 1450));
  CHECK(gateway.incidents()[PT_INCIDENT_PATH_MTU_LOWERED] == 0);
}

TEST_CASE("a SYN's segment size is lowered to what fits the tunnel, in both directions") {
  const TestGateway gateway(mesh_tables());
  const auto mss = [](std::uint16_t value) {
    return Bytes{2, 4, static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
  };
  const auto padded = [&mss](std::uint16_t value) {  // at an odd place
    Bytes out = {1};
    const Bytes option = mss(value);
    out.insert(out.end(), option.begin(), option.end());
    out.insert(out.end(), {1, 1, 0});
    return out;
  };
  const auto packet = [](const Route& route, const Bytes& segment, std::uint8_t ttl) {
    return ip_packet(route, {.protocol = 6, .ttl = ttl}, segment);
  };
  // Segments are built without their checksum; here it is set right.
  const auto segment = [](const Route& route, std::uint8_t flags, const Bytes& options) {
    Bytes out = with_options(route, flags, options);
    store_be16(out, 16, 0);
    const Bytes whole = ip_packet(route, {.protocol = 6}, out);
    Bytes pseudo;
    const std::size_t addresses = route.from.is_v4() ? 12 : 8;
    pseudo.insert(pseudo.end(), whole.begin() + static_cast<std::ptrdiff_t>(addresses),
                  whole.begin() + (route.from.is_v4() ? 20 : 40));
    const std::uint32_t seed = internet_sum(pseudo) + 6u + static_cast<std::uint32_t>(out.size());
    store_be16(out, 16, static_cast<std::uint16_t>(~internet_sum(out, seed)));
    return out;
  };
  for (const auto& make :
       {std::function<Bytes(std::uint16_t)>(mss), std::function<Bytes(std::uint16_t)>(padded)}) {
    for (const std::uint8_t flags : std::initializer_list<std::uint8_t>{kSyn, kSyn | kAck}) {
      const Route out{site_host(), inside(kAlpha)};
      const Run sent = gateway.local(on_site(packet(out, segment(out, flags, make(1460)), 64)));
      REQUIRE(sent.end.text() == verdict(PT_VERDICT_ENCAPSULATED).text());
      CHECK(to_hex(sent.out) ==
            to_hex(encapsulated_packet(kAlpha, packet(out, segment(out, flags, make(1410)), 63),
                                       load_be16(sent.out, 34))));
      const Route in{inside6(kAlpha), site_host6()};
      const Run got =
          gateway.underlay(from_peer_packet(kAlpha, packet(in, segment(in, flags, make(1440)), 64)));
      REQUIRE(got.end.text() == verdict(PT_VERDICT_DECAPSULATED).text());
      CHECK(to_hex(got.out) == to_hex(delivered(packet(in, segment(in, flags, make(1390)), 63))));
    }
  }
  const Route out{site_host(), inside(kAlpha)};
  for (const Bytes& left_alone :
       {segment(out, kSyn, mss(1410)), segment(out, kSyn, Bytes(4, 1)), segment(out, kAck, mss(1460)),
        segment(out, kSyn, {3, 0, 2, 4}), segment(out, kSyn, {0, 2, 4, 9})}) {
    const Run sent = gateway.local(on_site(packet(out, left_alone, 64)));
    REQUIRE(sent.end.text() == verdict(PT_VERDICT_ENCAPSULATED).text());
    CHECK(Bytes(sent.out.begin() + 50 + 14 + 20, sent.out.end()) == left_alone);
  }
  CHECK(gateway.incidents()[PT_INCIDENT_MSS_CLAMPED] == 8);
}

TEST_CASE("segment sizes are left alone when the config says so") {
  dataplane::Tables tables = mesh_tables();
  tables.gateway.clamp_mss = 0;
  const TestGateway gateway(tables);
  const Route out{site_host(), inside(kAlpha)};
  const Bytes segment = with_options(out, kSyn, {2, 4, 0x05, 0xb4});
  const Run sent = gateway.local(on_site(ip_packet(out, {.protocol = 6}, segment)));
  CHECK(Bytes(sent.out.begin() + 50 + 14 + 20, sent.out.end()) == segment);
}

}  // namespace postern::testing
