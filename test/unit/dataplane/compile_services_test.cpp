// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "dataplane/compile.h"
#include "support/small_mesh.h"

namespace postern::dataplane {
namespace {

using authority::OwnerKind;
using testing::ip;
using testing::owned;
using testing::small_mesh;
using testing::small_site;

constexpr std::uint32_t kWest = 11;
constexpr std::uint32_t kP2 = 13;

// Service www at 10.80.0.1: backends in our site, in west's and behind p2.
authority::Snapshot serving() {
  authority::Snapshot mesh = small_mesh();
  mesh.services = {{"www",
                    authority::Protocol::tcp,
                    80,
                    {{ip("10.1.0.5"), 1, false}, {ip("10.2.0.5"), 1, false}, {ip("10.3.0.5"), 2, false}}}};
  mesh.prefixes = {owned("blue", "10.80.0.1/32", OwnerKind::service, "www"),
                   owned("blue", "10.1.0.0/16", OwnerKind::gateway, "east"),
                   owned("blue", "10.2.0.0/16", OwnerKind::gateway, "west"),
                   owned("blue", "10.3.0.0/16", OwnerKind::peer, "p2")};
  return mesh;
}

Tables compiled(const authority::Snapshot& mesh) {
  Result<Compiled> out = compile(mesh, small_site());
  REQUIRE_MESSAGE(out, (out ? "" : out.error().message()));
  return std::move(out->tables);
}

std::set<std::uint32_t> items_of(const Tables& tables) {
  std::set<std::uint32_t> out;
  for (const auto& [key, row] : tables.backends)
    out.insert(key.item);
  return out;
}

}  // namespace

TEST_CASE("a service's backends and those who may answer for them have rows") {
  const Tables tables = compiled(serving());
  REQUIRE(tables.services.size() == 1);
  const pt_service& door = tables.services[0].second;
  CHECK(door.port == 80);
  CHECK(door.protocol == PT_PROTO_TCP);
  CHECK(door.draining == 0);
  CHECK(std::equal(std::begin(door.fresh), std::end(door.fresh), std::begin(door.flows)));
  CHECK(items_of(tables) == std::set<std::uint32_t>{0, 1, 2, PT_BACKEND_SENDER, PT_BACKEND_SENDER | kWest,
                                                    PT_BACKEND_SENDER | kP2});
  const auto owner = std::find_if(tables.owners4.begin(), tables.owners4.end(),
                                  [](const auto& row) { return row.second.kind == PT_OWNER_SERVICE; });
  REQUIRE(owner != tables.owners4.end());
  CHECK(owner->second.id == 0);
}

TEST_CASE("the gateway that relays for a backend may send its answers") {
  authority::Snapshot mesh = serving();
  mesh.peers[1].via = "west";
  mesh.services[0].backends = {{ip("10.3.0.5"), 1, false}};
  CHECK(items_of(compiled(mesh)) ==
        std::set<std::uint32_t>{0, PT_BACKEND_SENDER | kWest, PT_BACKEND_SENDER | kP2});
}

TEST_CASE("a draining backend is in the table of flows and not in that of new ones") {
  authority::Snapshot mesh = serving();
  mesh.services[0].backends[1].drain = true;
  const pt_service door = compiled(mesh).services[0].second;
  CHECK(door.draining == 1);
  CHECK(std::find(std::begin(door.fresh), std::end(door.fresh), 1) == std::end(door.fresh));
  CHECK(std::find(std::begin(door.flows), std::end(door.flows), 1) != std::end(door.flows));
}

TEST_CASE("a service that cannot be served is refused by name") {
  authority::Snapshot mesh = serving();
  std::string_view named;
  SUBCASE("without an address") {
    mesh.prefixes.erase(mesh.prefixes.begin());
    named = "service www owns no prefix";
  }
  SUBCASE("with a block of addresses") {
    mesh.prefixes[0] = owned("blue", "10.80.0.0/24", OwnerKind::service, "www");
    named = "exactly one prefix";
  }
  SUBCASE("with two addresses") {
    mesh.prefixes.push_back(owned("blue", "10.80.0.2/32", OwnerKind::service, "www"));
    named = "exactly one prefix";
  }
  SUBCASE("a backend that is nobody's") {
    mesh.services[0].backends[0].address = ip("172.16.0.1");
    named = "backend 172.16.0.1 of service www";
  }
  SUBCASE("a backend of another family") {
    mesh.services[0].backends[0].address = ip("fd00:1::5");
    named = "another family";
  }
  SUBCASE("a backend that is the service itself") {
    mesh.services[0].backends[0].address = ip("10.80.0.1");
    named = "which a service owns";
  }
  SUBCASE("an ICMP service") {
    mesh.services[0].protocol = authority::Protocol::icmp;
    named = "neither of TCP nor of UDP";
  }
  SUBCASE("too many backends") {
    mesh.services[0].backends.resize(PT_MAX_BACKENDS + 1);
    named = "256 backends";
  }
  const Result<Compiled> out = compile(mesh, small_site());
  REQUIRE_FALSE(out);
  CHECK_MESSAGE(out.error().context.find(named) != std::string::npos, out.error().context);
}

TEST_CASE("rules of any protocol, of codes and of fragments become rows") {
  authority::Snapshot mesh = small_mesh();
  authority::Rule any;
  any.from = "web";
  any.to = "db";
  any.protocol = authority::Protocol::any;
  any.fragments = true;
  authority::Rule unreachable = any;
  unreachable.from = "db";
  unreachable.to = "web";
  unreachable.protocol = authority::Protocol::icmp;
  unreachable.types = {3};
  unreachable.codes = {4};
  unreachable.fragments = false;
  mesh.rules = {any, unreachable};
  const Tables tables = compiled(mesh);
  std::set<std::pair<int, int>> of_any;  // protocol, fragments
  int of_code = 0;
  for (const auto& [key, rule] : tables.policy) {
    if (rule.rule == 0) of_any.emplace(key.protocol, key.fragments);
    of_code += rule.rule == 1;
  }
  CHECK(of_any.size() == 2 * PT_PROTO_COUNT);
  CHECK(of_code == 1);
  const auto class_of = [&](unsigned icmp) {
    return tables.port_classes[PT_PROTO_ICMP * PT_PORT_LINES + icmp / PT_PORT_LINE]
        .class_of[icmp % PT_PORT_LINE];
  };
  CHECK(class_of(3 << 8 | 4) != class_of(3 << 8 | 3));
  CHECK(class_of(3 << 8 | 3) == 0);
}

}  // namespace postern::dataplane
