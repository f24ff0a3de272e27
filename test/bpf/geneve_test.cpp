// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kIn = verdict(PT_VERDICT_DECAPSULATED);
const End kBad = drop(PT_DROP_BAD_TUNNEL);
constexpr ResourceNumber kResource{1};  // 10.20.0.0/24
const IpAddress kShared = *IpAddress::parse("10.20.0.7");

struct GeneveFields {
  std::uint8_t version = 0;
  std::uint8_t flags = 0;
  std::uint16_t protocol = 0x6558;
  std::uint32_t vni = kVni;
  Bytes options = {};
};

void append(Bytes& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<std::uint8_t>(value >> shift));
}

Bytes option(std::uint16_t option_class, std::uint8_t type, const Bytes& data) {
  Bytes out;
  append(out, option_class, 2);
  append(out, type, 1);
  append(out, data.size() / 4, 1);
  out.insert(out.end(), data.begin(), data.end());
  return out;
}
Bytes fence(std::uint32_t resource, std::uint64_t epoch) {
  Bytes data;
  append(data, resource, 4);
  append(data, epoch, 8);
  return option(PT_FENCE_CLASS, 1, data);
}
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// RFC 8926 3.4, as the payload of UDP.
Bytes geneve(const GeneveFields& fields, const Bytes& inner) {
  Bytes out;
  append(out, fields.version << 6 | fields.options.size() / 4, 1);
  append(out, fields.flags, 1);
  append(out, fields.protocol, 2);
  append(out, fields.vni, 3);
  append(out, 0, 1);
  return out + fields.options + inner;
}
Bytes geneve_packet(const Route& route, std::uint16_t source_port, const Bytes& payload,
                    const IpFields& fields = {.protocol = 17}) {
  Bytes udp;
  append(udp, source_port, 2);
  append(udp, PT_GENEVE_PORT, 2);
  append(udp, payload.size() + 8, 2);
  append(udp, 0, 2);
  return ip_packet(route, fields, udp + payload);
}
Bytes inner_of(Who who, const IpAddress& from, const IpAddress& to) {
  return inner_frame(who, tcp_packet({from, to}, 40000, 80, kSyn));
}
Bytes by_geneve(Who who, const IpAddress& from, const IpAddress& to, const GeneveFields& fields = {}) {
  return on_underlay(
      geneve_packet({underlay_of(who), our_underlay()}, 50000, geneve(fields, inner_of(who, from, to))));
}
Bytes plain(const GeneveFields& fields = {}) {
  return by_geneve(kGatewayC, inside(kGatewayC), site_host(), fields);
}

dataplane::Tables held_by(std::uint32_t holder) {
  dataplane::Tables tables = mesh_tables();
  tables.resources.push_back({kResource.value, {5, holder, 0}});
  for (const auto& [from, to] :
       {std::pair(kResourceClass, kSiteClass), std::pair(kResourceClass, kPeerClass)})
    allow(tables, from, to, PT_PROTO_TCP, 1);
  endpoint_row(tables, kGatewayC).tunnel = PT_TUNNEL_GENEVE;
  return tables;
}
void grant(const TestGateway& gateway) {
  REQUIRE(gateway.generations().leases().raise_fence(kResource, Epoch(5)));
  REQUIRE(gateway.generations().leases().extend(kResource, Epoch(5), ~std::uint64_t{0}));
}

}  // namespace

TEST_CASE("what comes by Geneve is judged and delivered as what comes by VXLAN") {
  const TestGateway gateway(mesh_tables());
  const Run run = gateway.underlay(plain());
  CHECK(run.end == kIn);
  CHECK(run.out == gateway
                       .underlay(from_peer_packet(
                           kGatewayC, tcp_packet({inside(kGatewayC), site_host()}, 40000, 80, kSyn)))
                       .out);
  CHECK(gateway.underlay(plain({.vni = kOtherVni})).end == drop(PT_DROP_VNI_DENIED));
  CHECK(gateway.underlay(by_geneve(kGatewayC, inside(kAlpha), site_host())).end ==
        drop(PT_DROP_SOURCE_DENIED));
  const Bytes stranger = on_underlay(
      geneve_packet({ip("192.0.2.77"), our_underlay()}, 50000, geneve({.version = 3}, Bytes(64))));
  CHECK(gateway.underlay(stranger).end == drop(PT_DROP_PEER_UNKNOWN));
  CHECK(TestGateway().underlay(plain()).end == drop(PT_DROP_CLOSED));
}

TEST_CASE("a Geneve header that we do not understand is refused, and one that may be ignored is") {
  const TestGateway gateway(mesh_tables());
  CHECK(gateway.underlay(plain({.version = 1})).end == kBad);
  CHECK(gateway.underlay(plain({.flags = 0x80})).end == kBad);  // control
  CHECK(gateway.underlay(plain({.flags = 0x40})).end == kBad);  // critical options, it says
  CHECK(gateway.underlay(plain({.flags = 0x3f})).end == kIn);   // reserved: ignored on receipt
  CHECK(gateway.underlay(plain({.protocol = 0x0800})).end == kBad);
  CHECK(gateway.underlay(plain({.options = option(0x0102, 0x05, Bytes(8))})).end == kIn);
  CHECK(gateway.underlay(plain({.options = option(0x0102, 0x85, Bytes(8))})).end == kBad);
  CHECK(gateway.underlay(plain({.options = option(PT_FENCE_CLASS, 0x81, Bytes(12))})).end == kBad);
  CHECK(gateway.underlay(plain({.options = option(PT_FENCE_CLASS, 1, Bytes(8))})).end == kBad);
  CHECK(gateway.underlay(plain({.options = fence(1, 5) + fence(1, 5)})).end == kBad);
  Bytes overrun = option(0x0102, 5, Bytes(8));
  overrun[3] = 3;  // a word more than there is
  CHECK(gateway.underlay(plain({.options = overrun})).end == kBad);
  Bytes many;
  for (int i = 0; i < 17; ++i)
    many = many + option(0x0102, 5, {});
  CHECK(gateway.underlay(plain({.options = many})).end == kBad);
  many.resize(std::size_t{16} * 4);
  CHECK(gateway.underlay(plain({.options = many})).end == kIn);
  const Bytes whole =
      geneve({.options = option(0x0102, 0x05, Bytes(8))},
             inner_frame(kGatewayC, tcp_packet({inside(kGatewayC), site_host()}, 40000, 80, kSyn)));
  const Bytes cut = geneve_packet({underlay_of(kGatewayC), our_underlay()}, 50000,
                                  Bytes(whole.begin(), whole.begin() + 12));
  CHECK(gateway.underlay(on_underlay(cut)).end == drop(PT_DROP_MALFORMED));
  // What stands behind the packet is padding.
  CHECK(gateway.underlay(on_underlay(cut + Bytes(whole.begin() + 12, whole.end()))).end ==
        drop(PT_DROP_MALFORMED));
}

TEST_CASE("the epoch of the fence option is tested before the holder") {
  const TestGateway gateway(held_by(kGatewayC));
  grant(gateway);
  const auto under = [&](Who who, std::uint32_t resource, std::uint64_t epoch) {
    return gateway.underlay(by_geneve(who, kShared, site_host(), {.options = fence(resource, epoch)})).end;
  };
  CHECK(under(kGatewayC, 1, 5) == kIn);
  CHECK(under(kGatewayC, 1, 4) == drop(PT_DROP_STALE_EPOCH));
  CHECK(under(kGatewayD, 1, 4) == drop(PT_DROP_STALE_EPOCH));
  CHECK(under(kGatewayD, 1, 5) == drop(PT_DROP_NOT_HOLDER));
  CHECK(under(kGatewayC, 2, 5) == kBad);
  // A fence option on what is no resource's says nothing.
  CHECK(gateway.underlay(plain({.options = fence(1, 1)})).end == kIn);
}

TEST_CASE("an epoch above the fence is refused and wakes the agent once") {
  const TestGateway gateway(held_by(kGatewayC));
  grant(gateway);
  struct {
    std::uint32_t ifindex;
    pt_address address;
  } key{kResource.value, {{0xff}}};
  std::uint64_t woken = 0;
  const int asked = gateway.plane().map_fd("neighbours_asked");
  CHECK(::bpf_map_lookup_elem(asked, &key, &woken) != 0);
  const Bytes future = by_geneve(kGatewayD, kShared, site_host(), {.options = fence(1, 6)});
  CHECK(gateway.underlay(future).end == drop(PT_DROP_FUTURE_EPOCH));
  REQUIRE(::bpf_map_lookup_elem(asked, &key, &woken) == 0);
  const std::uint64_t first = woken;
  CHECK(gateway.underlay(future).end == drop(PT_DROP_FUTURE_EPOCH));
  REQUIRE(::bpf_map_lookup_elem(asked, &key, &woken) == 0);
  CHECK(woken == first);
}

TEST_CASE("a gateway is sent Geneve, with the epoch of the resource that the packet comes from") {
  const TestGateway gateway(held_by(PT_HOLDER_LOCAL));
  grant(gateway);
  const auto sent = [&](const IpAddress& from, const Bytes& options) {
    const Run run = gateway.local(on_site(tcp_packet({from, inside(kGatewayC)}, 40000, 80, kSyn)));
    REQUIRE(run.end == verdict(PT_VERDICT_ENCAPSULATED));
    const Bytes frame = ethernet(peer_mac(kGatewayC), our_mac(),
                                 tcp_packet({from, inside(kGatewayC)}, 40000, 80, kSyn, {.ttl = 63}));
    const Bytes packet =
        geneve_packet({our_underlay(), underlay_of(kGatewayC)}, load_be16(run.out, 34),
                      geneve({.options = options}, frame), {.protocol = 17, .fragment = 0x4000});
    CHECK(run.out == ethernet(Network::get().router, Network::get().underlay.mac, packet));
  };
  sent(site_host(), {});
  sent(kShared, fence(1, 5));
  // A stock peer is sent VXLAN, and no option.
  const Run stock = gateway.local(on_site(tcp_packet({kShared, inside(kAlpha)}, 40000, 80, kSyn)));
  CHECK(load_be16(stock.out, 36) == PT_VXLAN_PORT);
}

}  // namespace postern::testing
