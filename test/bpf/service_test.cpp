// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>

#include "dataplane/maglev.h"
#include "packet_case.h"

namespace postern::testing {
namespace {

const IpAddress kService = *IpAddress::parse("10.30.0.1");  // TCP 80; class of the site
const End kIn = verdict(PT_VERDICT_DECAPSULATED);
const End kOut = verdict(PT_VERDICT_ENCAPSULATED);
const End kDenied = drop(PT_DROP_SOURCE_DENIED);

struct Member {
  IpAddress address;
  std::uint32_t sender;  // 0: the site
  bool drain = false;
};
const Member kAtSite{*IpAddress::parse("10.1.0.10"), 0};
const Member kAtAlpha{*IpAddress::parse("10.2.0.10"), kAlpha};
const Member kAtBeta{*IpAddress::parse("10.3.0.10"), kBeta};

dataplane::Tables serving(const std::vector<Member>& members) {
  dataplane::Tables tables = mesh_tables();
  add_owner(tables, kVni, {kService, 32}, {PT_OWNER_SERVICE, 0, kSiteClass, 0});
  std::vector<dataplane::MaglevBackend> fresh;
  std::vector<dataplane::MaglevBackend> all;
  std::set<std::uint32_t> senders;
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    fresh.push_back({members[i].address.text(), members[i].drain ? 0U : 1U});
    all.push_back({members[i].address.text(), 1});
    tables.backends.push_back({{0, i}, {table_address(members[i].address)}});
    senders.insert(members[i].sender);
  }
  for (const std::uint32_t sender : senders)
    tables.backends.push_back({{0, PT_BACKEND_SENDER | sender}, {}});
  pt_service door{};
  door.port = 80;
  door.protocol = PT_PROTO_TCP;
  std::ranges::copy(dataplane::maglev(fresh), door.fresh);
  std::ranges::copy(dataplane::maglev(all), door.flows);
  door.draining = 1;
  tables.services.push_back({0, door});
  return tables;
}

Bytes ask(std::uint16_t port, std::uint8_t flags = kSyn, std::uint16_t to = 80) {
  return from_peer_packet(kGatewayC, tcp_packet({inside(kGatewayC), kService}, port, to, flags));
}

// Which peer an encapsulated packet goes to, by its outer destination; 0: into the site.
std::uint32_t receiver(const Run& run) {
  if (run.end == kIn) return 0;
  REQUIRE(run.end == verdict(PT_VERDICT_RELAYED));
  return run.out[14 + 19];
}

}  // namespace

TEST_CASE("a service's flows are spread over its backends, in the site and behind peers, and stay there") {
  const TestGateway gateway(serving({kAtSite, kAtAlpha, kAtBeta}));
  std::map<std::uint32_t, int> share;
  for (std::uint16_t port = 1000; port < 1300; ++port) {
    const std::uint32_t first = receiver(gateway.underlay(ask(port)));
    CHECK(receiver(gateway.underlay(ask(port, kAck))) == first);
    ++share[first];
  }
  CHECK(share.size() == 3);
  for (const auto& [backend, flows] : share)
    CHECK(flows > 50);
}

TEST_CASE("when a backend goes, the flows of the others stay") {
  TestGateway gateway(serving({kAtSite, kAtAlpha, kAtBeta}));
  std::map<std::uint16_t, std::uint32_t> before;
  for (std::uint16_t port = 1000; port < 1300; ++port)
    before[port] = receiver(gateway.underlay(ask(port)));
  gateway.adopt(serving({kAtSite, kAtBeta}));
  int moved = 0;
  for (const auto& [port, backend] : before) {
    const std::uint32_t now = receiver(gateway.underlay(ask(port, kAck)));
    CHECK(now != kAlpha);
    if (backend != kAlpha) moved += now != backend;
  }
  CHECK(moved <= 15);  // of some 200; maglev_test bounds the table itself
}

TEST_CASE("a backend that is a service itself gets nothing") {
  const TestGateway gateway(serving({{kService, 0}}));
  CHECK(gateway.underlay(ask(1000)).end == drop(PT_DROP_NO_ROUTE));
}

TEST_CASE("a draining backend keeps its flows and gets no new ones") {
  TestGateway gateway(serving({kAtSite, kAtAlpha}));
  std::set<std::uint16_t> of_alpha;
  for (std::uint16_t port = 1000; port < 1060; ++port) {
    if (receiver(gateway.underlay(ask(port))) == kAlpha) of_alpha.insert(port);
  }
  REQUIRE_FALSE(of_alpha.empty());
  Member leaving = kAtAlpha;
  leaving.drain = true;
  gateway.adopt(serving({kAtSite, leaving}));
  for (const std::uint16_t port : of_alpha) {
    CHECK(receiver(gateway.underlay(ask(port, kAck))) == kAlpha);  // runs on
    const Bytes anew = from_peer_packet(
        kGatewayC,
        tcp_packet({inside(kGatewayC), kService}, static_cast<std::uint16_t>(port + 5000), 80, kSyn));
    CHECK(receiver(gateway.underlay(anew)) == 0);
    CHECK(receiver(gateway.underlay(ask(static_cast<std::uint16_t>(port + 5000), kAck))) == 0);
  }
}

TEST_CASE("a service has one door") {
  dataplane::Tables tables = serving({kAtSite});
  set_port_class(tables, PT_PROTO_TCP, 8080, 1);
  const TestGateway gateway(tables);
  CHECK(gateway.underlay(ask(1000)).end == kIn);
  CHECK(gateway.underlay(ask(1000, kSyn, 8080)).end == drop(PT_DROP_NO_BACKEND));
  const Bytes echo = from_peer_packet(kGatewayC, icmp_packet({inside(kGatewayC), kService}, 8, 0));
  CHECK(gateway.underlay(echo).end == drop(PT_DROP_NO_BACKEND));
  const TestGateway empty(serving({}));
  CHECK(empty.underlay(ask(1000)).end == drop(PT_DROP_NO_BACKEND));
}

TEST_CASE("a service's address is sourced by its backends alone, from its port, and never first") {
  const TestGateway gateway(serving({kAtSite, kAtAlpha}));
  const auto by = [](Who who, std::uint16_t port, std::uint8_t flags) {
    return from_peer_packet(who, tcp_packet({kService, inside(kBeta)}, port, 40000, flags));
  };
  CHECK(gateway.underlay(by(kAlpha, 80, kSyn | kAck)).end == verdict(PT_VERDICT_RELAYED));
  CHECK(gateway.underlay(by(kAlpha, 80, kRst)).end == verdict(PT_VERDICT_RELAYED));
  CHECK(gateway.underlay(by(kAlpha, 80, kSyn)).end == kDenied);
  CHECK(gateway.underlay(by(kAlpha, 81, kAck)).end == kDenied);
  CHECK(gateway.underlay(by(kGatewayC, 80, kAck)).end == kDenied);
  const Bytes udp = from_peer_packet(kAlpha, udp_packet({kService, inside(kBeta)}, 80, 53));
  CHECK(gateway.underlay(udp).end == kDenied);
  const auto site = [](std::uint16_t port, std::uint8_t flags) {
    return on_site(tcp_packet({kService, inside(kBeta)}, port, 40000, flags));
  };
  CHECK(gateway.local(site(80, kSyn | kAck)).end == kOut);
  CHECK(gateway.local(site(80, kSyn)).end == kDenied);
  const TestGateway elsewhere(serving({kAtAlpha}));
  CHECK(elsewhere.local(site(80, kAck)).end == kDenied);
}

}  // namespace postern::testing
