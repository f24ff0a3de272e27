// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

constexpr std::uint8_t kGre = 47;
const End kIn = verdict(PT_VERDICT_DECAPSULATED);

Bytes piece(std::uint8_t protocol, std::uint16_t fragment) {
  return from_peer_packet(kAlpha, ip_packet({inside(kAlpha), site_host()},
                                            {.protocol = protocol, .fragment = fragment}, Bytes(64)));
}

void allow_fragments(dataplane::Tables& tables, pt_protocol protocol) {
  tables.policy.push_back(
      {pt_policy_key{kPeerClass, kSiteClass, static_cast<__u8>(protocol), 0, 1}, pt_rule{}});
}

}  // namespace

TEST_CASE("later fragments and unread protocols pass by rules of their own alone") {
  constexpr std::uint8_t kUdp = 17;
  constexpr std::uint8_t kTcp = 6;
  constexpr std::uint16_t kLater = 0x0064;
  TestGateway gateway(mesh_tables());
  CHECK(gateway.underlay(piece(kUdp, kLater)).end == drop(PT_DROP_FRAGMENT));
  CHECK(gateway.underlay(piece(kGre, 0)).end == drop(PT_DROP_L4_UNSUPPORTED));

  dataplane::Tables tables = mesh_tables();
  allow_fragments(tables, PT_PROTO_UDP);
  gateway.adopt(tables);
  CHECK(gateway.underlay(piece(kUdp, kLater)).end == kIn);
  CHECK(gateway.underlay(piece(kTcp, kLater)).end == drop(PT_DROP_FRAGMENT));
  CHECK(gateway.underlay(piece(kTcp, 1)).end == drop(PT_DROP_MALFORMED));
  CHECK(gateway.underlay(piece(kGre, kLater)).end == drop(PT_DROP_FRAGMENT));
  const Bytes outward =
      on_site(ip_packet({site_host(), inside(kAlpha)}, {.protocol = kUdp, .fragment = kLater}, Bytes(64)));
  CHECK(gateway.local(outward).end == drop(PT_DROP_FRAGMENT));  // the rule has a direction

  tables = mesh_tables();
  set_port_class(tables, PT_PROTO_OTHER, kGre, 1);
  allow(tables, kPeerClass, kSiteClass, PT_PROTO_OTHER, 1);
  gateway.adopt(tables);
  CHECK(gateway.underlay(piece(kGre, 0)).end == kIn);
  CHECK(gateway.underlay(piece(50, 0)).end == drop(PT_DROP_L4_UNSUPPORTED));
  CHECK(gateway.underlay(piece(kGre, kLater)).end == drop(PT_DROP_FRAGMENT));
}

}  // namespace postern::testing
