// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

constexpr std::uint16_t kWireGuard = 51820;
const End kPass = verdict(PT_VERDICT_PASS);
const End kGuarded = drop(PT_DROP_GUARDED);

dataplane::Tables guarding(std::uint64_t packets = 1000) {
  dataplane::Tables tables = mesh_tables();
  tables.gateway.guarded_count = 1;
  tables.gateway.guarded_be[0] = htons(kWireGuard);
  const std::uint64_t each_ns = 1'000'000'000'000;
  tables.rates.push_back({0, {{}, {each_ns, packets * each_ns, 1}}});
  return tables;
}

Bytes knock(const IpAddress& from, std::uint16_t port, const IpFields& fields = {},
            const IpAddress& to = our_underlay()) {
  return on_underlay(udp_packet({from, to}, 40000, port, 32, fields));
}

}  // namespace

TEST_CASE("a guarded port is reached by admitted peers alone") {
  const TestGateway gateway(guarding());
  CHECK(gateway.underlay(knock(underlay_of(kAlpha), kWireGuard)).end == kPass);
  CHECK(gateway.underlay(knock(underlay_of(kGatewayC), kWireGuard)).end == kPass);
  CHECK(gateway.underlay(knock(ip("192.0.2.77"), kWireGuard)).end == kGuarded);
  CHECK(gateway.underlay(knock(underlay_of(kRevoked), kWireGuard)).end == kGuarded);
  CHECK(gateway.underlay(knock(underlay_of(kExpired), kWireGuard)).end == kGuarded);
  CHECK(gateway.underlay(knock(ip("2001:db8::77"), kWireGuard, {}, ip("2001:db8::1"))).end == kGuarded);
  CHECK(gateway.underlay(knock(underlay_of(kSixth), kWireGuard, {}, ip("2001:db8::1"))).end == kPass);
  // Other ports, and TCP to the same one, are the host's own affair.
  CHECK(gateway.underlay(knock(ip("192.0.2.77"), 51821)).end == kPass);
  const Bytes tcp = on_underlay(tcp_packet({ip("192.0.2.77"), our_underlay()}, 40000, kWireGuard, kSyn));
  CHECK(gateway.underlay(tcp).end == kPass);
}

TEST_CASE("neither fragments nor options nor tags get round a guarded port") {
  const TestGateway gateway(guarding());
  const IpAddress other = ip("192.0.2.200");  // of the host, but no tunnel address
  for (const IpAddress& from : {ip("192.0.2.77"), underlay_of(kAlpha)}) {
    CHECK(gateway.underlay(knock(from, kWireGuard, {.fragment = 0x2000}, other)).end == kGuarded);
    CHECK(gateway.underlay(knock(from, kWireGuard, {.options = Bytes(4, 1)}, other)).end == kGuarded);
    CHECK(gateway.underlay(tagged(knock(from, kWireGuard, {}, other), 7)).end == kGuarded);
  }
  // To a tunnel address every fragment is dropped, whatever it is a piece of.
  CHECK(gateway.underlay(knock(ip("192.0.2.77"), kWireGuard, {.fragment = 0x2000})).end ==
        drop(PT_DROP_FRAGMENT));
}

TEST_CASE("what reaches a guarded port is limited") {
  const TestGateway gateway(guarding(3));
  for (int i = 0; i < 3; ++i)
    CHECK(gateway.underlay(knock(underlay_of(kAlpha), kWireGuard)).end == kPass);
  CHECK(gateway.underlay(knock(underlay_of(kAlpha), kWireGuard)).end == drop(PT_DROP_RATE_EXCEEDED));
}

TEST_CASE("a guarded port from a mesh address is still untunnelled") {
  const TestGateway gateway(guarding());
  CHECK(gateway.underlay(knock(inside(kAlpha), kWireGuard)).end == drop(PT_DROP_UNTUNNELLED));
}

}  // namespace postern::testing
