// SPDX-License-Identifier: Apache-2.0
// Whatever the limits are: a snapshot that only removes from one that fitted fits as well, so nobody has to
// be kept in for want of room (SPEC 3.4).
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "dataplane/compile.h"
#include "support/small_mesh.h"

using namespace postern;
using namespace postern::dataplane;
using namespace postern::testing;
using authority::OwnerKind;

namespace {

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
  return mesh;
}

template <class List>
void thin_out(List& list, std::mt19937& random) {
  std::erase_if(list, [&random](const auto&) { return random() % 3 == 0; });
}

std::vector<std::size_t> sizes(const authority::Snapshot& mesh) {
  const Result<Compiled> compiled = compile(mesh, small_site());
  REQUIRE_MESSAGE(compiled, (compiled ? "" : compiled.error().message()));
  const Tables& tables = compiled->tables;
  return {tables.ports.size(),   tables.segments.size(), tables.peers.size(), tables.endpoints.size(),
          tables.owners4.size(), tables.owners6.size(),  tables.policy.size()};
}

}  // namespace

TEST_CASE("a snapshot that only removes needs no more room in any table") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    authority::Snapshot mesh = full_mesh(random);
    std::vector<std::size_t> before = sizes(mesh);
    for (int round = 0; round < 4; ++round) {
      thin_out(mesh.rules, random);
      thin_out(mesh.prefixes, random);
      if (round == 2) std::erase_if(mesh.peers, [](const authority::Peer& peer) { return peer.id == "p1"; });
      const std::vector<std::size_t> after = sizes(mesh);
      for (std::size_t i = 0; i < after.size(); ++i)
        CHECK(after[i] <= before[i]);
      before = after;
    }
  }
}
