// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

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
constexpr std::uint32_t kP1 = 12;

Tables compiled(const authority::Snapshot& mesh, const Site& site = small_site()) {
  Result<Compiled> out = compile(mesh, site);
  REQUIRE_MESSAGE(out, (out ? "" : out.error().message()));
  return std::move(out->tables);
}

std::vector<pt_endpoint> ways_of(const Tables& tables, std::uint32_t id) {
  std::vector<pt_endpoint> out;
  for (const auto& [key, row] : tables.endpoints) {
    if ((key & 0xffffff) == id) out.push_back(row);
  }
  return out;
}

bool is(const pt_address& row, std::string_view address) {
  return std::memcmp(row.bytes, ip(address).bytes.data(), sizeof row.bytes) == 0;
}

}  // namespace

TEST_CASE("a peer of several underlay addresses has a way to each") {
  const std::vector<pt_endpoint> ways = ways_of(compiled(small_mesh()), kWest);
  REQUIRE(ways.size() == 2);
  CHECK(ways[0].ways == 2);
  CHECK(is(ways[0].remote, "192.0.2.2"));
  CHECK(is(ways[1].remote, "192.0.2.22"));
}

TEST_CASE("gateways are sent Geneve, and stock peers what they are signed for") {
  authority::Snapshot mesh = small_mesh();
  mesh.peers[1].tunnel = authority::Tunnel::geneve;
  const Tables tables = compiled(mesh);
  CHECK(ways_of(tables, kWest)[0].tunnel == PT_TUNNEL_GENEVE);
  CHECK(ways_of(tables, kP1)[0].tunnel == PT_TUNNEL_VXLAN);
  CHECK(ways_of(tables, kP1 + 1)[0].tunnel == PT_TUNNEL_GENEVE);
}

TEST_CASE("a peer behind a gateway is reached as that gateway is, in the peer's segments") {
  authority::Snapshot mesh = small_mesh();
  mesh.peers[0].via = "west";
  const Tables tables = compiled(mesh);
  const std::vector<pt_endpoint> ways = ways_of(tables, kP1);
  REQUIRE(ways.size() == 2);
  CHECK(ways[0].via == kWest);
  CHECK(ways[0].kind == PT_PEER_GATEWAY);
  CHECK(ways[0].tunnel == PT_TUNNEL_GENEVE);
  CHECK(ways[0].mac[5] == 2);
  CHECK(is(ways[0].remote, "192.0.2.2"));
  // p1 is in segment red, which west has nothing of itself.
  CHECK((ways_of(tables, kWest)[0].segments[0] & 2) != 0);
  mesh.peers[0].state = authority::State::revoked;
  CHECK(ways_of(compiled(mesh), kP1)[0].state == PT_PEER_REVOKED);
  mesh.peers[0].state = authority::State::active;
  mesh.gateways[1].state = authority::State::revoked;
  CHECK(ways_of(compiled(mesh), kP1)[0].state == PT_PEER_REVOKED);
}

TEST_CASE("the gateway that relays for a peer reaches it itself") {
  authority::Snapshot mesh = small_mesh();
  mesh.peers[0].via = "east";
  const std::vector<pt_endpoint> ways = ways_of(compiled(mesh), kP1);
  REQUIRE(ways.size() == 1);
  CHECK(ways[0].via == 0);
  CHECK(is(ways[0].remote, "198.51.100.1"));
}

TEST_CASE("a rate becomes chunks of a millisecond and a burst of a tenth of a second") {
  authority::Snapshot mesh = small_mesh();
  mesh.peers[0].rate_bytes_per_s = 100'000'000;
  mesh.peers[0].rate_packets_per_s = 10;
  const Tables tables = compiled(mesh);
  REQUIRE(tables.rates.size() == 1);
  CHECK(tables.rates[0].first == kP1);
  const pt_rate& rate = tables.rates[0].second;
  CHECK(rate.bytes.chunk == 100'000);
  CHECK(rate.bytes.chunk_ns == 1'000'000);
  CHECK(rate.bytes.burst_ns == 101'000'000);
  CHECK(rate.packets.chunk == 1);
  CHECK(rate.packets.chunk_ns == 100'000'000);
  CHECK(rate.packets.burst_ns == 200'000'000);
  for (const auto& [address, row] : tables.peers)
    CHECK((row.flags == PT_PEER_METERED) == (row.id == kP1));
  CHECK(ways_of(tables, kP1)[0].flags == PT_PEER_METERED);
}

TEST_CASE("the slowest and the fastest rate stay within their words, and any frame fits a burst") {
  authority::Snapshot mesh = small_mesh();
  for (const std::uint64_t rate : {std::uint64_t{1}, std::uint64_t{1000}, ~std::uint64_t{0}}) {
    mesh.peers[0].rate_bytes_per_s = rate;
    const pt_allowance bytes = compiled(mesh).rates[0].second.bytes;
    CHECK(bytes.chunk_ns > 0);
    CHECK(bytes.burst_ns / bytes.chunk_ns * bytes.chunk >= 65536);
    CHECK(bytes.burst_ns < std::uint64_t{1} << 62);
  }
}

TEST_CASE("a resource's row names its holder, and none but candidates hold") {
  authority::Snapshot mesh = small_mesh();
  mesh.resources = {{"vip", ResourceNumber(3), {"east", "west"}, {}, 10'000}};
  mesh.prefixes = {owned("blue", "10.9.0.0/24", OwnerKind::resource, "vip")};
  Site site = small_site();
  CHECK(compiled(mesh, site).resources.empty());
  site.holders = {{ResourceNumber(3), {"west", Epoch(8)}}};
  Tables tables = compiled(mesh, site);
  REQUIRE(tables.resources.size() == 1);
  CHECK(tables.resources[0].first == 3);
  CHECK(tables.resources[0].second.holder == kWest);
  CHECK(tables.resources[0].second.epoch == 8);
  site.holders = {{ResourceNumber(3), {"east", Epoch(9)}}};
  CHECK(compiled(mesh, site).resources[0].second.holder == PT_HOLDER_LOCAL);
  site.holders = {{ResourceNumber(4), {"east", Epoch(9)}}};
  CHECK(compiled(mesh, site).resources.empty());
}

TEST_CASE("a holder that the snapshot does not admit holds nothing, and keeps no snapshot out") {
  authority::Snapshot mesh = small_mesh();
  mesh.resources = {{"vip", ResourceNumber(3), {"east", "gone"}, {"west", "removed"}, 10'000}};
  mesh.prefixes = {owned("blue", "10.9.0.0/24", OwnerKind::resource, "vip")};
  Site site = small_site();
  for (const char* const stranger : {"p1", "removed", "nobody", ""}) {
    site.holders = {{ResourceNumber(3), {stranger, Epoch(9)}}};
    CHECK(compiled(mesh, site).resources.empty());
  }
  const Result<Compiled> done = compile(mesh, site);
  REQUIRE(done);
  CHECK(done->claimants == Claimants{{ResourceNumber(3), {{"east", PT_HOLDER_LOCAL}, {"west", kWest}}}});
  const Holders former = {{ResourceNumber(3), {"west", Epoch(9)}}};
  const auto rows = holder_rows(done->claimants, former);
  REQUIRE(rows.size() == 1);
  CHECK(holders_of(rows, {{kWest, "west"}}) == former);
  CHECK(holders_of(rows, {{kWest + 1, "west"}}).empty());
}

TEST_CASE("guarded ports are in the gateway's row, and share one rate") {
  Site site = small_site();
  site.guarded = {{51820, 4242}, 500};
  const Tables tables = compiled(small_mesh(), site);
  CHECK(tables.gateway.guarded_count == 2);
  CHECK(tables.gateway.guarded_be[0] == __builtin_bswap16(51820));
  REQUIRE(tables.rates.size() == 1);
  CHECK(tables.rates[0].first == 0);
  CHECK(tables.rates[0].second.packets.chunk_ns == 2'000'000);
  site.guarded.ports.assign(PT_MAX_GUARDED_PORTS + 1, 7);
  CHECK(compile(small_mesh(), site).error().code == errc::capacity);
}

}  // namespace postern::dataplane
