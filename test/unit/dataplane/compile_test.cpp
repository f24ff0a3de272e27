// SPDX-License-Identifier: Apache-2.0
#include "dataplane/compile.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "support/small_mesh.h"

namespace postern::dataplane {
namespace {

using authority::OwnerKind;
using testing::ip;
using testing::owned;
using testing::small_mesh;
using testing::small_site;

Compiled compiled(const authority::Snapshot& mesh, const Site& site = small_site()) {
  Result<Compiled> out = compile(mesh, site);
  REQUIRE_MESSAGE(out, (out ? "" : out.error().message()));
  return std::move(*out);
}

Error refused(const authority::Snapshot& mesh, const Site& site = small_site()) {
  Result<Compiled> out = compile(mesh, site);
  REQUIRE_FALSE(out);
  return out.error();
}

bool mentions(const Error& error, std::string_view text) {
  return error.context.find(text) != std::string::npos;
}

const pt_peer* peer_at(const Tables& tables, std::string_view address) {
  const IpAddress wanted = ip(address);
  for (const auto& [key, row] : tables.peers) {
    if (std::equal(wanted.bytes.begin(), wanted.bytes.end(), key.bytes)) return &row;
  }
  return nullptr;
}

const pt_endpoint& endpoint_of(const Tables& tables, std::uint32_t id) {
  const auto found = std::find_if(tables.endpoints.begin(), tables.endpoints.end(),
                                  [&](const auto& row) { return row.first == id; });
  REQUIRE(found != tables.endpoints.end());
  return found->second;
}

}  // namespace

TEST_CASE("the gateway row says who we are") {
  const pt_gateway row = compiled(small_mesh()).tables.gateway;
  CHECK(row.open == 1);
  CHECK(row.serial == 7);
  CHECK(row.generation == 0);
  CHECK(ntohs(row.tunnel_port_be) == 4789);
  CHECK(std::memcmp(row.underlay[0].bytes, ip("192.0.2.1").bytes.data(), 16) == 0);
  CHECK(row.mac[5] == 1);
}

TEST_CASE("a gateway that the snapshot does not have is told which ones it has") {
  Site site = small_site();
  site.gateway = "nort";
  const Error error = refused(small_mesh(), site);
  CHECK(error.code == errc::unknown_gateway);
  CHECK(mentions(error, "east, west"));
}

TEST_CASE("a revoked gateway compiles to closed tables") {
  authority::Snapshot mesh = small_mesh();
  mesh.gateways[0].state = authority::State::revoked;
  CHECK(compiled(mesh).tables.gateway.open == 0);
}

TEST_CASE("an expired snapshot closes the gateway only if it says so") {
  authority::Snapshot mesh = small_mesh();
  Site site = small_site();
  site.now = mesh.expires;
  CHECK(compiled(mesh, site).tables.gateway.open == 1);
  mesh.on_expiry = authority::OnExpiry::close;
  CHECK(compiled(mesh, site).tables.gateway.open == 0);
  site.now = UtcSeconds(mesh.expires.value - 1);
  const Compiled before = compiled(mesh, site);
  CHECK(before.tables.gateway.open == 1);
  CHECK(before.changes_at == mesh.expires);
}

TEST_CASE("a VLAN is a port where its frames arrive, and where routes name its device") {
  Site site = small_site();
  site.ports[1].carrier = Carrier{IfIndex(9), 30};
  const Tables tables = compiled(small_mesh(), site).tables;
  const auto row = [&](std::uint32_t ifindex, std::uint16_t vlan) {
    const auto found = std::find_if(tables.ports.begin(), tables.ports.end(), [&](const auto& port) {
      return port.first.ifindex == ifindex && port.first.vlan == vlan;
    });
    REQUIRE(found != tables.ports.end());
    return found->second;
  };
  REQUIRE(tables.ports.size() == 4);
  for (const pt_port& port : {row(4, 0), row(9, 30)}) {
    CHECK(port.role == PT_ROLE_LOCAL);
    CHECK(port.vni == 100);
    CHECK(port.slot == 1);
    CHECK(port.device == 4);
    CHECK(port.carrier == 9);
    CHECK(port.vlan == 30);
  }
  CHECK(row(9, 0).role == PT_ROLE_CARRIER);
  CHECK(row(3, 0).device == 3);
  CHECK(row(3, 0).carrier == 3);
}

TEST_CASE("an interface that is configured itself takes frames without a tag beside its VLANs") {
  Site site = small_site();
  site.ports.push_back({"in0.30", IfIndex(5), config::Role::local, "red", 2});
  site.ports[2].carrier = Carrier{IfIndex(4), 30};
  const Tables tables = compiled(small_mesh(), site).tables;
  CHECK(tables.ports.size() == 4);
  CHECK(std::none_of(tables.ports.begin(), tables.ports.end(),
                     [](const auto& port) { return port.second.role == PT_ROLE_CARRIER; }));
}

TEST_CASE("one VLAN of one interface is configured once") {
  Site site = small_site();
  site.ports.push_back({"in0.30", IfIndex(5), config::Role::local, "blue", 2});
  site.ports.push_back({"other", IfIndex(6), config::Role::local, "red", 3});
  site.ports[2].carrier = site.ports[3].carrier = Carrier{IfIndex(4), 30};
  const Error error = refused(small_mesh(), site);
  CHECK(error.code == errc::ambiguous);
  CHECK(mentions(error, "interface index 4, VLAN 30, is configured twice"));
}

TEST_CASE("ports carry role, segment and counter slot") {
  const Tables tables = compiled(small_mesh()).tables;
  REQUIRE(tables.ports.size() == 2);
  CHECK(tables.ports[0].first.ifindex == 3);
  CHECK(tables.ports[0].second.role == PT_ROLE_UNDERLAY);
  CHECK(tables.ports[0].second.vni == PT_VNI_ANY);
  CHECK(tables.ports[1].second.role == PT_ROLE_LOCAL);
  CHECK(tables.ports[1].second.vni == 100);
  CHECK(tables.ports[1].second.slot == 1);
}

TEST_CASE("a local interface in an unknown segment is refused by name") {
  Site site = small_site();
  site.ports[1].segment = "green";
  const Error error = refused(small_mesh(), site);
  CHECK(error.code == errc::unknown_segment);
  CHECK(mentions(error, "interface in0"));
  CHECK(mentions(error, "green"));
}

TEST_CASE("an interface twice is refused") {
  Site site = small_site();
  site.ports[1].ifindex = IfIndex(3);
  CHECK(refused(small_mesh(), site).code == errc::ambiguous);
}

TEST_CASE("a segment holds our own addresses in it, of both families") {
  const Tables tables = compiled(small_mesh()).tables;
  REQUIRE(tables.segments.size() == 2);
  CHECK(tables.segments[0].first == 100);
  CHECK(std::memcmp(tables.segments[0].second.gateway4.bytes, ip("10.1.0.1").bytes.data(), 16) == 0);
  CHECK(std::memcmp(tables.segments[0].second.gateway6.bytes, ip("fd00:1::1").bytes.data(), 16) == 0);
  CHECK(tables.segments[1].second.index == 1);
  CHECK(std::memcmp(tables.segments[1].second.gateway4.bytes, IpAddress{}.bytes.data(), 16) == 0);
}

TEST_CASE("every underlay address of every other node is a peer row") {
  const Tables tables = compiled(small_mesh()).tables;
  CHECK(tables.peers.size() == 4);
  CHECK(peer_at(tables, "192.0.2.1") == nullptr);
  for (const std::string_view address : {"192.0.2.2", "192.0.2.22"}) {
    const pt_peer* west = peer_at(tables, address);
    REQUIRE(west != nullptr);
    CHECK(west->id == 11);
    CHECK(west->kind == PT_PEER_GATEWAY);
    CHECK(west->segments[0] == 1);
  }
  const pt_peer* p1 = peer_at(tables, "198.51.100.1");
  REQUIRE(p1 != nullptr);
  CHECK(p1->kind == PT_PEER_STOCK);
  CHECK(p1->segments[0] == 2);
  const pt_endpoint& endpoint = endpoint_of(tables, 12);
  CHECK(std::memcmp(endpoint.local.bytes, ip("192.0.2.1").bytes.data(), 16) == 0);
  CHECK(std::memcmp(endpoint.remote.bytes, ip("198.51.100.1").bytes.data(), 16) == 0);
  CHECK(endpoint.mac[5] == 0x11);
  CHECK(endpoint_of(tables, 13).mac[0] == 0);
}

TEST_CASE("a gateway may use the segments of what it owns or may come to hold") {
  authority::Snapshot mesh = small_mesh();
  SUBCASE("a prefix") {
    mesh.prefixes = {owned("red", "10.9.0.0/16", OwnerKind::gateway, "west")};
  }
  SUBCASE("a resource's prefix") {
    mesh.resources = {{"vip", ResourceNumber(4), {"west"}, {}, 10'000}};
    mesh.prefixes = {owned("red", "10.9.0.0/16", OwnerKind::resource, "vip")};
  }
  CHECK(peer_at(compiled(mesh).tables, "192.0.2.2")->segments[0] == 3);
}

TEST_CASE("revoked peers and gateways stay in the tables, marked") {
  authority::Snapshot mesh = small_mesh();
  mesh.gateways[1].state = authority::State::revoked;
  mesh.peers[0].state = authority::State::revoked;
  const Tables tables = compiled(mesh).tables;
  CHECK(peer_at(tables, "192.0.2.2")->state == PT_PEER_REVOKED);
  CHECK(peer_at(tables, "198.51.100.1")->state == PT_PEER_REVOKED);
  CHECK(endpoint_of(tables, 12).state == PT_PEER_REVOKED);
  CHECK(peer_at(tables, "198.51.100.2")->state == PT_PEER_ACTIVE);
}

TEST_CASE("a peer is expired outside of its signed time, and the next such instant is told") {
  authority::Snapshot mesh = small_mesh();
  mesh.peers[0].not_before = UtcSeconds(2500);
  mesh.peers[0].expires = UtcSeconds(3000);
  mesh.peers[1].expires = UtcSeconds(2800);
  const auto at = [&](std::int64_t now) {
    Site site = small_site();
    site.now = UtcSeconds(now);
    const Compiled out = compiled(mesh, site);
    return std::pair(peer_at(out.tables, "198.51.100.1")->state, out.changes_at);
  };
  CHECK(at(2499) == std::pair(__u8{PT_PEER_EXPIRED}, std::optional(UtcSeconds(2500))));
  CHECK(at(2500) == std::pair(__u8{PT_PEER_ACTIVE}, std::optional(UtcSeconds(2800))));
  CHECK(at(2999) == std::pair(__u8{PT_PEER_ACTIVE}, std::optional(UtcSeconds(3000))));
  CHECK(at(3000) == std::pair(__u8{PT_PEER_EXPIRED}, std::optional<UtcSeconds>()));
}

TEST_CASE("the times of a revoked peer change nothing") {
  authority::Snapshot mesh = small_mesh();
  mesh.peers[0].state = authority::State::revoked;
  mesh.peers[0].expires = UtcSeconds(3000);
  CHECK_FALSE(compiled(mesh).changes_at);
}

TEST_CASE("one underlay address of two nodes is refused") {
  authority::Snapshot mesh = small_mesh();
  SUBCASE("of two peers") {
    mesh.peers[1].addresses = mesh.peers[0].addresses;
  }
  SUBCASE("of a peer and this gateway") {
    mesh.peers[1].addresses = mesh.gateways[0].underlay;
  }
  CHECK(refused(mesh).code == errc::ambiguous);
}

TEST_CASE("what the data plane cannot enforce is refused by name") {
  authority::Snapshot mesh = small_mesh();
  std::string_view named;
  SUBCASE("no underlay address at all") {
    mesh.gateways[0].underlay.clear();
    named = "gateway east has no underlay address";
  }
  SUBCASE("a peer without an address") {
    mesh.peers[0].addresses.clear();
    named = "peer p1 has no underlay address";
  }
  SUBCASE("a rule of TCP with ICMP types") {
    mesh.rules = {testing::tcp_rule({})};
    mesh.rules[0].types = {8};
    named = "rule 1 (web to db)";
  }
  SUBCASE("a rule of codes without types") {
    mesh.rules = {testing::tcp_rule({})};
    mesh.rules[0].protocol = authority::Protocol::icmp;
    mesh.rules[0].codes = {4};
    named = "rule 1 (web to db)";
  }
  SUBCASE("a rule with an empty port range") {
    mesh.rules = {testing::tcp_rule({{20, 10}})};
    named = "20-10";
  }
  SUBCASE("a segment with a virtual address") {
    mesh.segments[0].gateway = ip("10.1.0.254");
    named = "segment blue";
  }
  SUBCASE("a VNI that stands for any segment") {
    mesh.segments[1].vni = Vni(0);
    named = "segment red";
  }
  const Error error = refused(mesh);
  CHECK(error.code == errc::unsupported);
  CHECK(mentions(error, named));
}

TEST_CASE("names of nothing are refused, saying who uses them") {
  authority::Snapshot mesh = small_mesh();
  ErrorCode code = errc::unknown_name;
  std::string_view named;
  SUBCASE("a peer's segment") {
    mesh.peers[0].segments = {"green"};
    code = errc::unknown_segment;
    named = "peer p1";
  }
  SUBCASE("a prefix's segment") {
    mesh.prefixes = {owned("green", "10.1.0.0/16", OwnerKind::peer, "p1")};
    code = errc::unknown_segment;
    named = "10.1.0.0/16";
  }
  SUBCASE("a prefix's owner") {
    mesh.prefixes = {owned("blue", "10.1.0.0/16", OwnerKind::peer, "p9")};
    named = "p9";
  }
  SUBCASE("a prefix's resource") {
    mesh.prefixes = {owned("blue", "10.1.0.0/16", OwnerKind::resource, "vip")};
    named = "vip";
  }
  SUBCASE("a prefix's class") {
    mesh.prefixes = {owned("blue", "10.1.0.0/16", OwnerKind::peer, "p1", "cache")};
    named = "cache";
  }
  SUBCASE("a rule's class") {
    mesh.rules = {testing::tcp_rule({})};
    mesh.rules[0].to = "cache";
    named = "rule 1 (web to cache)";
  }
  const Error error = refused(mesh);
  CHECK(error.code == code);
  CHECK(mentions(error, named));
}

TEST_CASE("a peer without an allotted id is refused") {
  Site site = small_site();
  site.peer_ids.erase("p2");
  CHECK(mentions(refused(small_mesh(), site), "p2"));
}

TEST_CASE("the legend names the numbers, and floors go by resource number") {
  authority::Snapshot mesh = small_mesh();
  mesh.resources = {{"vip", ResourceNumber(4), {"east"}, {}, 10'000}};
  mesh.epoch_floors = {{"vip", Epoch(3)}, {"removed", Epoch(9)}};
  const Compiled out = compiled(mesh);
  CHECK(out.legend.peers.at(PeerId(11)) == "west");
  CHECK(out.legend.classes == std::vector<std::string>{"", "web", "db"});
  CHECK(out.legend.segments.at(200) == "red");
  CHECK(out.legend.resources.at(4) == "vip");
  CHECK(out.floors == std::map<ResourceNumber, Epoch>{{ResourceNumber(4), Epoch(3)}});
}

TEST_CASE("a resource number beyond the fences is refused") {
  authority::Snapshot mesh = small_mesh();
  mesh.resources = {{"vip", ResourceNumber(PT_MAX_RESOURCES), {"east"}, {}, 10'000}};
  CHECK(refused(mesh).code == errc::capacity);
}

TEST_CASE("too many segments or own underlay addresses are refused") {
  authority::Snapshot mesh = small_mesh();
  SUBCASE("segments") {
    for (std::uint32_t i = 0; i < PT_MAX_SEGMENTS; ++i) {
      mesh.segments.push_back({"s" + std::to_string(i), Vni(1000 + i), {}, {}});
    }
  }
  SUBCASE("own addresses") {
    for (int i = 0; i < PT_MAX_UNDERLAY_ADDRESSES; ++i)
      mesh.gateways[0].underlay.push_back(ip("192.0.2.9"));
  }
  SUBCASE("rules") {
    mesh.rules.assign(PT_MAX_RULES + 1, testing::tcp_rule({}));
  }
  CHECK(refused(mesh).code == errc::capacity);
}

TEST_CASE("one VNI or class twice is refused") {
  authority::Snapshot mesh = small_mesh();
  SUBCASE("VNI") {
    mesh.segments[1].vni = mesh.segments[0].vni;
  }
  SUBCASE("segment") {
    mesh.segments[1].id = mesh.segments[0].id;
  }
  SUBCASE("class") {
    mesh.classes = {"web", "web"};
  }
  SUBCASE("own address") {
    mesh.gateways[0].addresses.push_back({"blue", ip("10.1.0.2")});
  }
  CHECK(refused(mesh).code == errc::ambiguous);
}

}  // namespace postern::dataplane
