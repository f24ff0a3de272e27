// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

constexpr std::uint8_t kNone = 0;
constexpr std::uint8_t kEct1 = 1;
constexpr std::uint8_t kEct0 = 2;
constexpr std::uint8_t kCe = 3;
constexpr std::uint8_t kDropped = 0xff;

// RFC 6040, figure 4: what arrives in the site, by [inner][outer].
constexpr std::uint8_t kMerged[4][4] = {
    {kNone, kNone, kNone, kDropped},
    {kEct1, kEct1, kEct1, kCe},
    {kEct0, kEct1, kEct0, kCe},
    {kCe, kCe, kCe, kCe},
};
constexpr std::uint8_t kDscp = 0x28;

}  // namespace

TEST_CASE(
    "congestion marks of the tunnel reach the packet inside, in all sixteen combinations of both families") {
  const TestGateway gateway(mesh_tables());
  for (std::uint8_t inner = 0; inner < 4; ++inner) {
    for (std::uint8_t outer = 0; outer < 4; ++outer) {
      for (const Route& route : {Route{inside(kAlpha), site_host()}, Route{inside6(kAlpha), site_host6()}}) {
        CAPTURE(int{inner});
        CAPTURE(int{outer});
        const auto packet = [&route](std::uint8_t ttl, std::uint8_t ecn) {
          return tcp_packet(route, 40000, 80, kSyn,
                            {.ttl = ttl, .tos = static_cast<std::uint8_t>(kDscp | ecn)});
        };
        const Run run =
            gateway.underlay(on_underlay(vxlan_packet({underlay_of(kAlpha), our_underlay()}, 50000, kVni,
                                                      inner_frame(kAlpha, packet(64, inner)), outer)));
        const std::uint8_t expected = kMerged[inner][outer];
        if (expected == kDropped) {
          CHECK(run.end.text() == drop(PT_DROP_CONGESTION).text());
        } else {
          REQUIRE(run.end.text() == verdict(PT_VERDICT_DECAPSULATED).text());
          CHECK(to_hex(run.out) == to_hex(delivered(packet(63, expected))));
        }
      }
    }
  }
}

TEST_CASE("into a tunnel, traffic class and congestion mark go along as they are") {
  const TestGateway gateway(mesh_tables());
  for (std::uint8_t ecn = 0; ecn < 4; ++ecn) {
    for (const Who who : {kAlpha, kSixth}) {
      for (const Route& route : {Route{site_host(), inside(who)}, Route{site_host6(), inside6(who)}}) {
        const auto tos = static_cast<std::uint8_t>(kDscp | ecn);
        const auto packet = [&](std::uint8_t ttl) {
          return tcp_packet(route, 40000, 80, kSyn, {.ttl = ttl, .tos = tos});
        };
        const Run run = gateway.local(on_site(packet(64)));
        REQUIRE(run.end.text() == verdict(PT_VERDICT_ENCAPSULATED).text());
        const std::size_t port_at = who == kAlpha ? 34 : 54;
        CHECK(to_hex(run.out) ==
              to_hex(encapsulated_packet(who, packet(63), load_be16(run.out, port_at), tos)));
      }
    }
  }
}

}  // namespace postern::testing
