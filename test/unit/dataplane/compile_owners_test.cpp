// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "dataplane/compile.h"
#include "support/small_mesh.h"

namespace postern::dataplane {
namespace {

using authority::OwnerKind;
using testing::owned;
using testing::small_mesh;
using testing::small_site;

// "VNI prefix" -> row, of both families.
std::map<std::string, pt_owner> owners_of(const std::vector<authority::Prefix>& prefixes) {
  authority::Snapshot mesh = small_mesh();
  mesh.resources = {{"vip", ResourceNumber(4), {"east", "west"}, {}, 10'000}};
  mesh.prefixes = prefixes;
  const Result<Compiled> out = compile(mesh, small_site());
  REQUIRE_MESSAGE(out, (out ? "" : out.error().message()));
  std::map<std::string, pt_owner> rows;
  const auto note = [&](__u32 vni_be, IpAddress address, __u32 prefixlen, const pt_owner& row) {
    const IpPrefix prefix{address, static_cast<std::uint8_t>(prefixlen - 32)};
    rows[std::to_string(ntohl(vni_be)) + " " + prefix.text()] = row;
  };
  for (const auto& [key, row] : out->tables.owners4) {
    IpAddress address = testing::ip("0.0.0.0");
    std::copy(std::begin(key.address), std::end(key.address), address.bytes.begin() + 12);
    note(key.vni_be, address, key.prefixlen, row);
  }
  for (const auto& [key, row] : out->tables.owners6) {
    IpAddress address;
    std::copy(std::begin(key.address), std::end(key.address), address.bytes.begin());
    note(key.vni_be, address, key.prefixlen, row);
  }
  CHECK(rows.size() == out->tables.owners4.size() + out->tables.owners6.size());
  return rows;
}

}  // namespace

TEST_CASE("an owner row says the kind, the number and the class of its owner") {
  const auto rows = owners_of({owned("blue", "10.1.0.0/16", OwnerKind::gateway, "east", "db"),
                               owned("blue", "10.2.0.0/16", OwnerKind::gateway, "west"),
                               owned("red", "fd00:3::/32", OwnerKind::peer, "p1"),
                               owned("red", "10.4.0.1/32", OwnerKind::resource, "vip")});
  const pt_owner local = rows.at("100 10.1.0.0/16");
  CHECK(local.kind == PT_OWNER_LOCAL);
  CHECK(local.id == 0);
  CHECK(local.class_id == 2);
  const pt_owner gateway = rows.at("100 10.2.0.0/16");
  CHECK(gateway.kind == PT_OWNER_PEER);
  CHECK(gateway.id == 11);
  CHECK(gateway.class_id == 1);
  const pt_owner peer = rows.at("200 fd00:3::/32");
  CHECK(peer.kind == PT_OWNER_PEER);
  CHECK(peer.id == 12);
  const pt_owner resource = rows.at("200 10.4.0.1/32");
  CHECK(resource.kind == PT_OWNER_RESOURCE);
  CHECK(resource.id == 4);
}

TEST_CASE("the same prefix in two segments has an owner in each") {
  const auto rows = owners_of({owned("blue", "10.0.0.0/8", OwnerKind::peer, "p2"),
                               owned("red", "10.0.0.0/8", OwnerKind::peer, "p1")});
  CHECK(rows.at("100 10.0.0.0/8").id == 13);
  CHECK(rows.at("200 10.0.0.0/8").id == 12);
  CHECK(rows.size() == 3);  // and once in the union
}

TEST_CASE("the union leaves out default routes and whatever a shorter prefix covers") {
  const auto rows = owners_of(
      {owned("blue", "0.0.0.0/0", OwnerKind::peer, "p2"), owned("blue", "::/0", OwnerKind::peer, "p2"),
       owned("blue", "10.0.0.0/8", OwnerKind::peer, "p2"), owned("red", "10.1.0.0/16", OwnerKind::peer, "p1"),
       owned("red", "10.1.2.0/24", OwnerKind::peer, "p1"), owned("red", "11.0.0.0/16", OwnerKind::peer, "p1"),
       owned("red", "::/8", OwnerKind::peer, "p1"), owned("red", "101:2::/32", OwnerKind::peer, "p1"),
       owned("blue", "101:2:3::/48", OwnerKind::peer, "p2"),
       owned("blue", "0:1::/32", OwnerKind::peer, "p2")});
  std::vector<std::string> any;
  for (const auto& [name, row] : rows) {
    if (name.starts_with("0 ")) any.push_back(name);
  }
  CHECK(any == std::vector<std::string>{"0 10.0.0.0/8", "0 101:2::/32", "0 11.0.0.0/16", "0 ::/8"});
}

TEST_CASE("a default route of a peer is marked, the site's own is not") {
  const auto rows = owners_of({owned("blue", "0.0.0.0/0", OwnerKind::peer, "p2"),
                               owned("red", "0.0.0.0/0", OwnerKind::gateway, "east"),
                               owned("blue", "10.0.0.0/8", OwnerKind::peer, "p2")});
  CHECK(rows.at("100 0.0.0.0/0").flags == PT_OWNER_DEFAULT_ROUTE);
  CHECK(rows.at("200 0.0.0.0/0").flags == 0);
  CHECK(rows.at("100 10.0.0.0/8").flags == 0);
}

TEST_CASE("a prefix with two owners in one segment is refused") {
  authority::Snapshot mesh = small_mesh();
  mesh.prefixes = {owned("blue", "10.0.0.0/8", OwnerKind::peer, "p2"),
                   owned("blue", "10.0.0.0/8", OwnerKind::gateway, "west")};
  const Result<Compiled> out = compile(mesh, small_site());
  REQUIRE_FALSE(out);
  CHECK(out.error().code == errc::ambiguous);
}

TEST_CASE("owner rows are sorted by the bytes of their keys") {
  authority::Snapshot mesh = small_mesh();
  for (int i = 255; i >= 0; --i) {
    mesh.prefixes.push_back(owned("blue", "10." + std::to_string(i) + ".0.0/16", OwnerKind::peer, "p2"));
    mesh.prefixes.push_back(owned("blue", "20." + std::to_string(i) + ".0.0/20", OwnerKind::peer, "p2"));
  }
  const Result<Compiled> out = compile(mesh, small_site());
  REQUIRE(out);
  CHECK(out->tables.owners4.size() == 1024);
  CHECK(std::is_sorted(
      out->tables.owners4.begin(), out->tables.owners4.end(),
      [](const auto& a, const auto& b) { return std::memcmp(&a.first, &b.first, sizeof a.first) < 0; }));
}

}  // namespace postern::dataplane
