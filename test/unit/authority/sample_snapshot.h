// SPDX-License-Identifier: Apache-2.0
// A small snapshot in which every optional part is used once; tests change one thing and see it refused.
#pragma once

#include "authority/snapshot.h"
#include "core/utc.h"

namespace postern::testing {

inline wire::PublicKey sample_key(std::uint8_t fill) {
  wire::PublicKey key;
  key.bytes.fill(fill);
  return key;
}

inline authority::Gateway sample_gateway(std::string id, std::uint8_t number) {
  authority::Gateway gateway;
  gateway.id = std::move(id);
  gateway.key = sample_key(number);
  gateway.mac = MacAddress{{2, 0, 0, 0, 1, number}};
  gateway.underlay = {IpAddress::parse("192.0.2." + std::to_string(number)).value()};
  gateway.links = {Endpoint{gateway.underlay[0], 7946}};
  return gateway;
}

inline authority::Prefix sample_prefix(std::string segment, std::string_view prefix,
                                       authority::OwnerKind kind, std::string owner, std::string class_id) {
  return {std::move(segment), IpPrefix::parse(prefix).value(), {kind, std::move(owner)}, std::move(class_id)};
}

inline authority::Snapshot sample_snapshot() {
  using namespace authority;
  Snapshot out;
  out.mesh = "demo";
  out.serial = Serial(7);
  out.prev.fill(0xab);
  out.issued = parse_utc("2026-01-01T00:00:00Z").value();
  out.expires = parse_utc("2027-01-01T00:00:00Z").value();
  out.on_expiry = OnExpiry::close;
  out.root = {2, {sample_key(201), sample_key(202), sample_key(203)}};
  out.segments = {{"blue", Vni(100), MacAddress{{2, 0, 0, 0, 9, 1}}, IpAddress::parse("10.9.0.1")},
                  {"red", Vni(200), {}, {}}};
  out.gateways = {sample_gateway("gw1", 1), sample_gateway("gw2", 2)};
  out.gateways[0].addresses = {{"blue", IpAddress::parse("10.1.0.1").value()},
                               {"blue", IpAddress::parse("fd00:1::1").value()}};
  out.gateways[1].state = State::revoked;
  out.tombstones = {{"gw0", sample_key(99)}};
  Peer peer;
  peer.id = "site-b";
  peer.addresses = {IpAddress::parse("192.0.2.12").value(), IpAddress::parse("2001:db8::12").value()};
  peer.segments = {"blue", "red"};
  peer.mac = MacAddress{{2, 0, 0, 0, 2, 1}};
  peer.via = "gw2";
  peer.state = State::revoked;
  peer.not_before = parse_utc("2026-02-01T00:00:00Z");
  peer.expires = parse_utc("2026-03-01T00:00:00Z");
  peer.rate_bytes_per_s = UINT64_MAX;
  out.peers = {peer};
  out.classes = {"site-a", "site-b", "shared"};
  out.prefixes = {sample_prefix("blue", "10.1.0.0/24", OwnerKind::gateway, "gw1", "site-a"),
                  sample_prefix("blue", "fd00:1::/64", OwnerKind::gateway, "gw1", "site-a"),
                  sample_prefix("blue", "10.2.0.0/24", OwnerKind::peer, "site-b", "site-b"),
                  sample_prefix("red", "10.2.0.0/24", OwnerKind::gateway, "gw2", "site-b"),
                  sample_prefix("blue", "10.9.0.0/24", OwnerKind::resource, "vip", "shared"),
                  sample_prefix("blue", "0.0.0.0/0", OwnerKind::peer, "site-b", "site-b")};
  out.resources = {{"vip", ResourceNumber(3), {"gw1", "gw2"}, {"gw0"}, 5000}};
  Rule tcp{"site-a", "site-b", Protocol::tcp, {{22, 22}, {8000, 8100}}, {}, {}, true, true};
  Rule ping{"site-b", "site-a", Protocol::icmp, {}, {0, 8}, {}, false, false};
  Rule all{"site-a", "shared", Protocol::udp, {}, {}, {}, false, false};
  out.rules = {tcp, ping, all};
  out.epoch_floors = {{"vip", Epoch(UINT64_MAX)}, {"gone", Epoch(1)}};
  return out;
}

}  // namespace postern::testing
