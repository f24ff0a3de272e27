// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kIn = verdict(PT_VERDICT_DECAPSULATED);
const End kRelayed = verdict(PT_VERDICT_RELAYED);

// Alpha is reached by way of gateway C.
dataplane::Tables alpha_behind_c() {
  dataplane::Tables tables = mesh_tables();
  pt_endpoint& endpoint = endpoint_row(tables, kAlpha);
  endpoint.remote = table_address(underlay_of(kGatewayC));
  std::ranges::copy(peer_mac(kGatewayC).bytes, endpoint.mac);
  endpoint.kind = PT_PEER_GATEWAY;
  endpoint.via = kGatewayC;
  return tables;
}

Bytes packet(const IpAddress& from, const IpAddress& to, std::uint16_t port = 40000) {
  return tcp_packet({from, to}, port, 80, kSyn);
}
Bytes through(Who sender, const IpAddress& from, const IpAddress& to) {
  return from_peer_packet(sender, packet(from, to));
}
IpAddress outer_destination(const Run& run) {
  IpAddress out = ip("0.0.0.0");
  std::copy_n(run.out.begin() + 14 + 16, 4, out.bytes.begin() + 12);
  return out;
}

}  // namespace

TEST_CASE("a gateway that relays for a peer may send what the peer owns, and no other gateway may") {
  const TestGateway gateway(alpha_behind_c());
  CHECK(gateway.underlay(through(kGatewayC, inside(kAlpha), site_host())).end == kIn);
  CHECK(gateway.underlay(through(kAlpha, inside(kAlpha), site_host())).end == kIn);
  CHECK(gateway.underlay(through(kGatewayD, inside(kAlpha), site_host())).end == drop(PT_DROP_SOURCE_DENIED));
  CHECK(gateway.underlay(through(kGatewayC, inside(kBeta), site_host())).end == drop(PT_DROP_SOURCE_DENIED));
}

TEST_CASE("what a peer behind a gateway gets goes to that gateway") {
  const TestGateway gateway(alpha_behind_c());
  const Run run = gateway.local(on_site(packet(site_host(), inside(kAlpha))));
  CHECK(run.end == verdict(PT_VERDICT_ENCAPSULATED));
  CHECK(outer_destination(run) == underlay_of(kGatewayC));
}

TEST_CASE("a peer that is revoked cannot come by way of its gateway") {
  dataplane::Tables tables = alpha_behind_c();
  endpoint_row(tables, kAlpha).state = PT_PEER_REVOKED;
  TestGateway gateway(tables);
  CHECK(gateway.underlay(through(kGatewayC, inside(kAlpha), site_host())).end == drop(PT_DROP_PEER_REVOKED));
  endpoint_row(tables, kAlpha).state = PT_PEER_EXPIRED;
  gateway.adopt(tables);
  CHECK(gateway.underlay(through(kGatewayC, inside(kAlpha), site_host())).end == drop(PT_DROP_PEER_EXPIRED));
}

TEST_CASE("from gateway to gateway a packet goes along a signed way alone, and never back") {
  const TestGateway gateway(alpha_behind_c());
  const End refused = drop(PT_DROP_RELAY_REFUSED);
  CHECK(gateway.underlay(through(kGatewayD, inside(kGatewayD), inside(kAlpha))).end == kRelayed);
  CHECK(gateway.underlay(through(kGatewayD, inside(kGatewayD), inside(kGatewayC))).end == refused);
  CHECK(gateway.underlay(through(kGatewayC, inside(kGatewayC), inside(kAlpha))).end == refused);
  CHECK(gateway.underlay(through(kAlpha, inside(kAlpha), inside(kAlpha))).end == refused);
}

TEST_CASE("two peers of one gateway reach each other through it") {
  const TestGateway gateway(mesh_tables());
  const Run run = gateway.underlay(through(kAlpha, inside(kAlpha), inside(kBeta)));
  CHECK(run.end == kRelayed);
  CHECK(outer_destination(run) == underlay_of(kBeta));
}

TEST_CASE("a peer of two addresses gets its flows over both, and each flow over one") {
  dataplane::Tables tables = mesh_tables();
  endpoint_row(tables, kAlpha).ways = 2;
  pt_endpoint second = endpoint_row(tables, kAlpha);
  second.remote = table_address(underlay_of(kBeta));
  tables.endpoints.push_back({PT_ENDPOINT_KEY(kAlpha, 1), second});
  const TestGateway gateway(tables);
  std::map<IpAddress, int> share;
  for (std::uint16_t port = 1000; port < 1200; ++port) {
    const Run run = gateway.local(on_site(packet(site_host(), inside(kAlpha), port)));
    REQUIRE(run.end == verdict(PT_VERDICT_ENCAPSULATED));
    CHECK(outer_destination(gateway.local(on_site(packet(site_host(), inside(kAlpha), port)))) ==
          outer_destination(run));
    ++share[outer_destination(run)];
  }
  CHECK(share.size() == 2);
  for (const auto& [address, flows] : share)
    CHECK(flows > 60);
}

}  // namespace postern::testing
