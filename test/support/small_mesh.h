// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "authority/snapshot.h"
#include "dataplane/compile.h"

namespace postern::testing {

inline IpAddress ip(std::string_view text) {
  return IpAddress::parse(text).value();
}

// Gateways east (own) and west, peers p1 and p2, segments blue and red, classes web and db.
inline authority::Snapshot small_mesh() {
  authority::Snapshot mesh;
  mesh.mesh = "m";
  mesh.serial = Serial(7);
  mesh.issued = UtcSeconds(1000);
  mesh.expires = UtcSeconds(5000);
  mesh.segments = {{"blue", Vni(100), {}, {}}, {"red", Vni(200), {}, {}}};
  authority::Gateway east;
  east.id = "east";
  east.underlay = {ip("192.0.2.1")};
  east.mac = *MacAddress::parse("02:00:00:00:00:01");
  east.addresses = {{"blue", ip("10.1.0.1")}, {"blue", ip("fd00:1::1")}};
  authority::Gateway west;
  west.id = "west";
  west.underlay = {ip("192.0.2.2"), ip("192.0.2.22")};
  west.mac = *MacAddress::parse("02:00:00:00:00:02");
  west.addresses = {{"blue", ip("10.2.0.1")}};
  mesh.gateways = {east, west};
  authority::Peer p1;
  p1.id = "p1";
  p1.addresses = {ip("198.51.100.1")};
  p1.segments = {"red"};
  p1.mac = *MacAddress::parse("02:00:00:00:00:11");
  authority::Peer p2;
  p2.id = "p2";
  p2.addresses = {ip("198.51.100.2")};
  p2.segments = {"blue", "red"};
  mesh.peers = {p1, p2};
  mesh.classes = {"web", "db"};
  return mesh;
}

inline dataplane::Site small_site() {
  dataplane::Site site;
  site.gateway = "east";
  site.ports = {{"up0", IfIndex(3), config::Role::underlay, "", 0},
                {"in0", IfIndex(4), config::Role::local, "blue", 1}};
  site.peer_ids = {{"west", PeerId(11)}, {"p1", PeerId(12)}, {"p2", PeerId(13)}};
  site.now = UtcSeconds(2000);
  return site;
}

inline authority::Prefix owned(std::string_view segment, std::string_view prefix, authority::OwnerKind kind,
                               std::string_view owner, std::string_view class_id = "web") {
  return {std::string(segment),
          IpPrefix::parse(prefix).value(),
          {kind, std::string(owner)},
          std::string(class_id)};
}

inline authority::Rule tcp_rule(std::vector<authority::PortRange> ports, bool strict = false) {
  authority::Rule rule;
  rule.from = "web";
  rule.to = "db";
  rule.ports = std::move(ports);
  rule.strict = strict;
  return rule;
}

}  // namespace postern::testing
