// SPDX-License-Identifier: Apache-2.0
// Whatever the limits are: a snapshot that only removes from one that fitted fits as well, so nobody has to
// be kept in for want of room (SPEC 3.4).
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "dataplane/compile.h"
#include "support/small_mesh.h"

using namespace postern;
using namespace postern::dataplane;
using namespace postern::testing;
using authority::OwnerKind;

namespace {

constexpr ResourceNumber kVip(3);
constexpr std::tuple<const char*, OwnerKind, const char*> kKeptPrefixes[] = {
    {"10.80.0.1/32", OwnerKind::service, "www"},
    {"10.90.0.0/24", OwnerKind::resource, "vip"},
    {"10.200.0.0/16", OwnerKind::gateway, "east"},
    {"10.201.0.0/16", OwnerKind::gateway, "west"},
    {"fd00:201::/64", OwnerKind::gateway, "west"}};

authority::Snapshot full_mesh(std::mt19937& random) {
  authority::Snapshot mesh = small_mesh();
  for (int i = 0; i < 24; ++i) {
    const std::string prefix = "10." + std::to_string(i) + (i % 3 == 0 ? ".0.0/16" : ".7.0/24");
    mesh.prefixes.push_back(
        owned(i % 2 == 0 ? "blue" : "red", prefix, OwnerKind::peer, "p2", i % 5 == 0 ? "db" : "web"));
  }
  for (int i = 0; i < 12; ++i) {
    const auto first = static_cast<std::uint16_t>(random() % 60'000);
    authority::Rule rule =
        tcp_rule({{first, static_cast<std::uint16_t>(first + random() % 5'000)}}, i % 4 == 0);
    if (i % 2 == 0) std::swap(rule.from, rule.to);
    mesh.rules.push_back(rule);
  }
  mesh.peers[1].rate_bytes_per_s = 1'000'000;
  mesh.resources = {{"vip", kVip, {"east", "west"}, {}, 5000}};
  mesh.services = {
      {"www",
       authority::Protocol::tcp,
       80,
       {{ip("10.200.0.5"), 1, false}, {ip("10.200.0.6"), 2, true}, {ip("10.201.0.5"), 1, false}}}};
  for (const auto& [prefix, kind, owner] : kKeptPrefixes)
    mesh.prefixes.push_back(owned("blue", prefix, kind, owner));
  return mesh;
}

void remove_owner(authority::Snapshot& mesh, OwnerKind kind) {
  std::erase_if(mesh.prefixes, [kind](const authority::Prefix& prefix) { return prefix.owner.kind == kind; });
}

template <class List>
void thin_out(List& list, std::mt19937& random) {
  std::erase_if(list, [&random](const auto&) { return random() % 3 == 0; });
}

std::vector<std::size_t> sizes(const authority::Snapshot& mesh) {
  Site site = small_site();
  if (!mesh.resources.empty()) site.holders = {{kVip, {"west", Epoch(1)}}};
  const Result<Compiled> compiled = compile(mesh, site);
  REQUIRE_MESSAGE(compiled, (compiled ? "" : compiled.error().message()));
  const Tables& tables = compiled->tables;
  return {tables.ports.size(),     tables.segments.size(), tables.peers.size(),   tables.endpoints.size(),
          tables.owners4.size(),   tables.owners6.size(),  tables.policy.size(),  tables.rates.size(),
          tables.resources.size(), tables.services.size(), tables.backends.size()};
}

}  // namespace

TEST_CASE("a snapshot that only removes needs no more room in any table") {
  std::mt19937 any(0);
  for (const std::size_t rows : sizes(full_mesh(any)))
    CHECK(rows > 0);
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    authority::Snapshot mesh = full_mesh(random);
    std::vector<std::size_t> before = sizes(mesh);
    for (int round = 0; round < 4; ++round) {
      thin_out(mesh.rules, random);
      std::erase_if(mesh.prefixes, [&random](const authority::Prefix& prefix) {
        return prefix.owner.kind == OwnerKind::peer && random() % 3 == 0;
      });
      for (authority::Service& service : mesh.services)
        thin_out(service.backends, random);
      if (round == 1) {
        mesh.services.clear();
        remove_owner(mesh, OwnerKind::service);
      }
      if (round == 2) mesh.peers[1].rate_bytes_per_s.reset();
      if (round == 3) {
        mesh.resources.clear();
        remove_owner(mesh, OwnerKind::resource);
      }
      if (round == 3) std::erase_if(mesh.peers, [](const authority::Peer& peer) { return peer.id == "p1"; });
      const std::vector<std::size_t> after = sizes(mesh);
      for (std::size_t i = 0; i < after.size(); ++i)
        CHECK(after[i] <= before[i]);
      before = after;
    }
  }
}
