// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

constexpr ResourceNumber kResource{1};  // 10.20.0.0/24
constexpr std::uint64_t kForever = ~std::uint64_t{0};
const IpAddress kShared = *IpAddress::parse("10.20.0.7");
const End kIn = verdict(PT_VERDICT_DECAPSULATED);

dataplane::Tables held_by(std::uint32_t holder, std::uint64_t epoch) {
  dataplane::Tables tables = mesh_tables();
  tables.resources.push_back({kResource.value, {epoch, holder, 0}});
  for (const auto& [from, to] :
       {std::pair(kResourceClass, kSiteClass), std::pair(kResourceClass, kPeerClass)})
    allow(tables, from, to, PT_PROTO_TCP, 1);
  return tables;
}

void grant(const TestGateway& gateway, std::uint64_t epoch, std::uint64_t deadline = kForever) {
  const dataplane::Leases& leases = gateway.generations().leases();
  REQUIRE(leases.raise_fence(kResource, Epoch(epoch)));
  REQUIRE(leases.extend(kResource, Epoch(epoch), deadline));
}

Bytes from_shared(Who who) {
  return from_peer_packet(who, tcp_packet({kShared, site_host()}, 40000, 80, kSyn));
}
Bytes site_to_shared() {
  return on_site(tcp_packet({site_host(), kShared}, 40000, 80, kSyn));
}

}  // namespace

TEST_CASE("a resource is its holder's alone") {
  const TestGateway gateway(held_by(kGatewayC, 5));
  grant(gateway, 5);
  CHECK(gateway.underlay(from_shared(kGatewayC)).end == kIn);
  CHECK(gateway.underlay(from_shared(kGatewayD)).end == drop(PT_DROP_NOT_HOLDER));
  CHECK(gateway.underlay(from_shared(kAlpha)).end == drop(PT_DROP_NOT_HOLDER));
  CHECK(gateway.local(on_site(tcp_packet({kShared, inside(kAlpha)}, 40000, 80, kSyn))).end ==
        drop(PT_DROP_NOT_HOLDER));
  const Run sent = gateway.local(site_to_shared());
  CHECK(sent.end == verdict(PT_VERDICT_ENCAPSULATED));
  CHECK(gateway.underlay(from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), kShared}, 1, 80, kSyn))).end ==
        verdict(PT_VERDICT_RELAYED));
}

TEST_CASE("a resource that nobody holds is dropped inside of another owner's prefix too") {
  dataplane::Tables tables = mesh_tables();
  add_owner(tables, kVni, *IpPrefix::parse("10.2.128.0/17"), {PT_OWNER_RESOURCE, 0, kPeerClass, 2});
  const TestGateway gateway(tables);
  const IpAddress inner = ip("10.2.200.1");  // alpha's, but for the resource
  CHECK(gateway.underlay(from_peer_packet(kAlpha, tcp_packet({inner, site_host()}, 1, 80, kSyn))).end ==
        drop(PT_DROP_UNHELD));
  CHECK(gateway.local(on_site(tcp_packet({site_host(), inner}, 1, 80, kSyn))).end == drop(PT_DROP_UNHELD));
}

TEST_CASE("a holder stops at its deadline, whoever is alive") {
  const TestGateway gateway(held_by(PT_HOLDER_LOCAL, 5));
  const Bytes out = on_site(tcp_packet({kShared, inside(kAlpha)}, 40000, 80, kSyn));
  const Bytes in = from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), kShared}, 40000, 80, kSyn));
  grant(gateway, 5, 1);  // a nanosecond after boot
  CHECK(gateway.local(out).end == drop(PT_DROP_LEASE_EXPIRED));
  CHECK(gateway.underlay(in).end == drop(PT_DROP_LEASE_EXPIRED));
  grant(gateway, 5);
  CHECK(gateway.local(out).end == verdict(PT_VERDICT_ENCAPSULATED));
  CHECK(gateway.underlay(in).end == drop(PT_DROP_NO_FIB_ROUTE));  // it is ours: the site has no route to it
  REQUIRE(gateway.generations().leases().stop(kResource));
  CHECK(gateway.local(out).end == drop(PT_DROP_LEASE_EXPIRED));
}

TEST_CASE("a raised fence takes a resource away, and the next flip does not give it back") {
  TestGateway gateway(held_by(kGatewayC, 5));
  grant(gateway, 5);
  REQUIRE(gateway.underlay(from_shared(kGatewayC)).end == kIn);
  REQUIRE(gateway.generations().leases().raise_fence(kResource, Epoch(6)));
  CHECK(gateway.underlay(from_shared(kGatewayC)).end == drop(PT_DROP_STALE_EPOCH));
  CHECK(gateway.local(site_to_shared()).end == drop(PT_DROP_STALE_EPOCH));
  dataplane::Tables again = held_by(kGatewayC, 5);
  again.gateway.serial = 2;
  gateway.adopt(again);
  CHECK(gateway.underlay(from_shared(kGatewayC)).end == drop(PT_DROP_STALE_EPOCH));
  gateway.adopt(held_by(kGatewayC, 6));
  CHECK(gateway.underlay(from_shared(kGatewayC)).end == drop(PT_DROP_LEASE_EXPIRED));  // not granted yet
  grant(gateway, 6);
  CHECK(gateway.underlay(from_shared(kGatewayC)).end == kIn);
}

TEST_CASE("a holder whose epoch is above the fence holds nothing yet, in either direction") {
  TestGateway gateway(held_by(kGatewayC, 5));
  grant(gateway, 5);
  REQUIRE(gateway.underlay(from_shared(kGatewayC)).end == kIn);
  gateway.adopt(held_by(kGatewayC, 6));
  CHECK(gateway.underlay(from_shared(kGatewayC)).end == drop(PT_DROP_FUTURE_EPOCH));
  CHECK(gateway.local(site_to_shared()).end == drop(PT_DROP_FUTURE_EPOCH));
  grant(gateway, 6);
  CHECK(gateway.underlay(from_shared(kGatewayC)).end == kIn);
}

TEST_CASE("a fence never falls, and raising one touches no other") {
  const TestGateway gateway(mesh_tables());
  const dataplane::Leases& leases = gateway.generations().leases();
  grant(gateway, 9, 77);
  const ResourceNumber neighbour(2);
  REQUIRE(leases.raise_fence(neighbour, Epoch(3)));
  REQUIRE(leases.extend(neighbour, Epoch(3), 55));
  REQUIRE(leases.raise_fence(kResource, Epoch(4)));
  CHECK(*leases.fence(kResource) == Epoch(9));
  CHECK(*leases.deadline_boot_ns(kResource) == 77);
  REQUIRE(leases.extend(kResource, Epoch(9), 70));
  CHECK(*leases.deadline_boot_ns(kResource) == 77);
  CHECK_FALSE(leases.extend(kResource, Epoch(8), 100));
  CHECK_FALSE(leases.extend(kResource, Epoch(10), 100));
  REQUIRE(leases.shorten(kResource, Epoch(9), 80));
  CHECK(*leases.deadline_boot_ns(kResource) == 77);
  CHECK_FALSE(leases.shorten(kResource, Epoch(8), 60));
  REQUIRE(leases.shorten(kResource, Epoch(9), 60));
  CHECK(*leases.deadline_boot_ns(kResource) == 60);
  REQUIRE(leases.raise_fence(kResource, Epoch(10)));
  CHECK(*leases.deadline_boot_ns(kResource) == 0);
  CHECK(*leases.fence(neighbour) == Epoch(3));
  CHECK(*leases.deadline_boot_ns(neighbour) == 55);
  CHECK_FALSE(leases.raise_fence(ResourceNumber(PT_MAX_RESOURCES), Epoch(1)));
}

}  // namespace postern::testing
