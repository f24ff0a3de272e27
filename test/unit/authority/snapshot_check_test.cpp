// SPDX-License-Identifier: Apache-2.0
#include "authority/snapshot_check.h"

#include <doctest/doctest.h>

#include <functional>

#include "abi.h"
#include "authority/snapshot_codec.h"
#include "unit/authority/sample_snapshot.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;

namespace {

using Change = std::function<void(Snapshot&)>;

// What the reader of documents says of the sample with one thing changed.
Result<Snapshot> changed(const Change& change) {
  Snapshot snapshot = sample_snapshot();
  change(snapshot);
  return parse_snapshot(encode_snapshot(snapshot));
}

std::string verdict(const Change& change) {
  return outcome(changed(change));
}

IpAddress ip(std::string_view text) {
  return IpAddress::parse(text).value();
}

}  // namespace

TEST_CASE("the sample is accepted as it is") {
  CHECK(verdict([](Snapshot&) {}) == "ok");
}

TEST_CASE("names of a wrong form are refused, wherever they are given") {
  const std::string bad = "Not a name";
  CHECK(verdict([&](Snapshot& s) { s.mesh = bad; }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.mesh = "a.b"; }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.gateways[0].id = bad; }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.tombstones[0].id = bad; }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.segments[1].id = bad; }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.peers[0].id = bad; }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.resources[0].id = bad; }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.classes[0] = std::string(64, 'a'); }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.epoch_floors[1].resource = bad; }) == "snapshot.field");
}

TEST_CASE("a name that is given twice is refused; gateways, tombstones and peers share their names") {
  CHECK(verdict([](Snapshot& s) { s.gateways[1].id = "gw1"; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.tombstones[0].id = "gw1"; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.peers[0].id = "gw1"; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.peers[0].id = "gw0"; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.segments[1].id = "blue"; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.classes[1] = "site-a"; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.epoch_floors[1].resource = "vip"; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.resources.push_back(s.resources[0]); }) == "snapshot.field");
  CHECK(
      says(changed([](Snapshot& s) { s.peers[0].id = "gw1"; }), "peers[0]: the id \"gw1\" is taken already"));
}

TEST_CASE("a snapshot that expires no later than it was issued is refused") {
  CHECK(verdict([](Snapshot& s) { s.expires = s.issued; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.expires = s.issued.next(); }) == "ok");
}

TEST_CASE("a root that could never be satisfied is refused") {
  CHECK(verdict([](Snapshot& s) { s.root.threshold = 4; }) == "root.invalid");
  CHECK(verdict([](Snapshot& s) { s.root.keys[1] = s.root.keys[0]; }) == "root.invalid");
  CHECK(verdict([](Snapshot& s) { s.root = {1, {}}; }) == "root.invalid");
  CHECK(verdict([](Snapshot& s) {
          s.root.keys.clear();
          for (std::uint8_t i = 0; i < 65; ++i)
            s.root.keys.push_back(sample_key(i));
        }) == "root.invalid");
}

TEST_CASE("a VNI that two segments share is refused") {
  CHECK(verdict([](Snapshot& s) { s.segments[1].vni = Vni(100); }) == "snapshot.field");
}

TEST_CASE("MACs that no station can have, or that two gateways share, are refused") {
  const MacAddress multicast{{1, 0, 0x5e, 0, 0, 1}};
  CHECK(verdict([&](Snapshot& s) { s.gateways[0].mac = multicast; }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.gateways[0].mac = {}; }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.peers[0].mac = multicast; }) == "snapshot.field");
  CHECK(verdict([&](Snapshot& s) { s.segments[0].mac = multicast; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.gateways[1].mac = s.gateways[0].mac; }) == "snapshot.field");
}

TEST_CASE("a key that two gateways, or a gateway and a tombstone, share is refused") {
  CHECK(verdict([](Snapshot& s) { s.gateways[1].key = s.gateways[0].key; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.tombstones[0].key = s.gateways[0].key; }) == "snapshot.field");
}

TEST_CASE("an underlay address names one sender only") {
  CHECK(verdict([](Snapshot& s) { s.peers[0].addresses[0] = s.gateways[0].underlay[0]; }) ==
        "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.gateways[1].underlay = s.gateways[0].underlay; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.peers[0].addresses[1] = s.peers[0].addresses[0]; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) {
          s.peers.push_back(s.peers[0]);
          s.peers[1].id = "other";
        }) == "snapshot.field");
}

TEST_CASE("underlay addresses at which no tunnel can end are refused") {
  for (const std::string_view bad :
       {"0.0.0.0", "::", "224.0.0.1", "ff02::1", "127.0.0.1", "::1", "169.254.1.1", "fe80::1"}) {
    CAPTURE(bad);
    CHECK(verdict([&](Snapshot& s) { s.peers[0].addresses[0] = ip(bad); }) == "snapshot.field");
    CHECK(verdict([&](Snapshot& s) { s.gateways[0].underlay[0] = ip(bad); }) == "snapshot.field");
    CHECK(verdict([&](Snapshot& s) { s.gateways[0].links[0].address = ip(bad); }) == "snapshot.field");
  }
  CHECK(verdict([](Snapshot& s) { s.gateways[0].links[0].port = 0; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.gateways[0].underlay.clear(); }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.peers[0].addresses.clear(); }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) {
          for (const std::string_view more : {"192.0.2.31", "192.0.2.32", "192.0.2.33", "192.0.2.34"}) {
            s.gateways[0].underlay.push_back(ip(more));
          }
        }) == "snapshot.field");
}

TEST_CASE("an underlay address inside a mesh prefix is refused, but not inside a default route") {
  CHECK(verdict([](Snapshot& s) { s.peers[0].addresses[0] = ip("10.1.0.77"); }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.gateways[0].underlay[0] = ip("10.2.0.0"); }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.gateways[0].underlay[0] = ip("10.2.0.255"); }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.gateways[0].underlay[0] = ip("10.2.1.0"); }) == "ok");
  CHECK(verdict([](Snapshot& s) { s.peers[0].addresses[1] = ip("fd00:1::77"); }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.prefixes[2].prefix = IpPrefix::parse("192.0.0.0/8").value(); }) ==
        "snapshot.field");
  CHECK(
      says(changed([](Snapshot& s) { s.peers[0].addresses[0] = ip("10.1.0.77"); }),
           "peers[0]: the underlay address 10.1.0.77 lies inside the mesh prefix 10.1.0.0/24 (prefixes[0])"));
}

TEST_CASE("an IPv6 underlay address inside a short IPv6 prefix is seen, though IPv4 ones lie in between") {
  CHECK(verdict([](Snapshot& s) {
          s.prefixes[1].prefix = IpPrefix::parse("::/8").value();
          s.gateways[0].addresses.pop_back();
          s.peers[0].addresses[1] = ip("0:1::1");
        }) == "snapshot.field");
}

TEST_CASE("references to what does not exist are refused") {
  CHECK(verdict([](Snapshot& s) { s.peers[0].segments[1] = "green"; }) == "snapshot.reference");
  CHECK(verdict([](Snapshot& s) { s.peers[0].via = "site-b"; }) == "snapshot.reference");
  CHECK(verdict([](Snapshot& s) { s.peers[0].via = "gw0"; }) == "snapshot.reference");
  CHECK(verdict([](Snapshot& s) { s.prefixes[0].segment = "green"; }) == "snapshot.reference");
  CHECK(verdict([](Snapshot& s) { s.prefixes[0].class_id = "none"; }) == "snapshot.reference");
  CHECK(verdict([](Snapshot& s) { s.gateways[0].addresses[0].segment = "green"; }) == "snapshot.reference");
  CHECK(verdict([](Snapshot& s) { s.resources[0].candidates[0] = "site-b"; }) == "snapshot.reference");
  CHECK(verdict([](Snapshot& s) { s.resources[0].candidates[0] = "gw0"; }) == "snapshot.reference");
  CHECK(verdict([](Snapshot& s) { s.resources[0].former[0] = "site-b"; }) == "snapshot.reference");
  CHECK(verdict([](Snapshot& s) { s.rules[0].from = "none"; }) == "snapshot.reference");
  CHECK(verdict([](Snapshot& s) { s.rules[0].to = "none"; }) == "snapshot.reference");
}

TEST_CASE("an owner must be of the kind that it is called") {
  for (const Owner& owner : {Owner{OwnerKind::peer, "gw1"}, Owner{OwnerKind::gateway, "site-b"},
                             Owner{OwnerKind::gateway, "gw0"}, Owner{OwnerKind::resource, "gw1"},
                             Owner{OwnerKind::service, "vip"}, Owner{OwnerKind::peer, "nobody"}}) {
    CHECK(verdict([&](Snapshot& s) { s.prefixes[5].owner = owner; }) == "snapshot.reference");
  }
}

TEST_CASE("a prefix with two owners in one segment is an ownership conflict, in two segments it is not") {
  const auto twice = [](Snapshot& s) {
    s.prefixes.push_back(s.prefixes[2]);
    s.prefixes.back().owner = {OwnerKind::gateway, "gw1"};
  };
  CHECK(verdict(twice) == "snapshot.ownership");
  CHECK(exit_code(changed(twice).error().code.kind) == 6);
  CHECK(says(changed(twice),
             "prefixes[6]: 10.2.0.0/24 of segment \"blue\" is given to gateway \"gw1\", but prefixes[2] "
             "gives it to peer \"site-b\""));
  CHECK(verdict([](Snapshot& s) { s.prefixes.push_back(s.prefixes[2]); }) == "snapshot.ownership");
  CHECK(verdict([](Snapshot& s) { s.prefixes[2].prefix = IpPrefix::parse("10.2.0.0/25").value(); }) == "ok");
}

TEST_CASE("prefixes that nobody can own are refused") {
  for (const std::string_view bad : {"224.0.0.0/4", "239.1.0.0/16", "ff00::/8", "127.0.0.0/8", "127.0.0.1/32",
                                     "::1/128", "169.254.0.0/16", "fe80::/10", "0.0.0.0/32", "::/128"}) {
    CAPTURE(bad);
    CHECK(verdict([&](Snapshot& s) { s.prefixes[2].prefix = IpPrefix::parse(bad).value(); }) ==
          "snapshot.field");
  }
}

TEST_CASE("a gateway's address must lie in a prefix that the gateway itself owns") {
  CHECK(verdict([](Snapshot& s) { s.gateways[0].addresses[0].address = ip("10.2.0.1"); }) ==
        "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.gateways[0].addresses[0].segment = "red"; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.gateways[0].addresses[1].address = ip("fd00:2::1"); }) ==
        "snapshot.field");
  // A longer prefix inside it that somebody else owns takes the address away.
  CHECK(verdict([](Snapshot& s) {
          s.prefixes.push_back(sample_prefix("blue", "10.1.0.1/32", OwnerKind::peer, "site-b", "site-b"));
        }) == "snapshot.field");
}

TEST_CASE("a gateway has one address a family and segment, and no two gateways share one") {
  CHECK(verdict([](Snapshot& s) {
          s.gateways[0].addresses.push_back({"blue", ip("10.1.0.2")});
        }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.gateways[1].addresses = {s.gateways[0].addresses[0]}; }) ==
        "snapshot.field");
}

TEST_CASE("a segment's gateway address lies in a prefix of the segment") {
  CHECK(verdict([](Snapshot& s) { s.segments[1].gateway = ip("10.9.0.1"); }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.segments[1].gateway = ip("10.2.0.1"); }) == "ok");
  CHECK(verdict([](Snapshot& s) { s.segments[0].gateway = ip("224.0.0.1"); }) == "snapshot.field");
}

TEST_CASE("peers whose times or rate make no sense are refused") {
  CHECK(verdict([](Snapshot& s) { s.peers[0].expires = s.peers[0].not_before; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.peers[0].rate_bytes_per_s = 0; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.peers[0].segments = {"blue", "blue"}; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.peers[0].segments.clear(); }) == "ok");
}

TEST_CASE("resources with shared numbers, without or with repeated candidates are refused") {
  CHECK(verdict([](Snapshot& s) {
          s.resources.push_back(s.resources[0]);
          s.resources[1].id = "vip2";
        }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.resources[0].candidates.clear(); }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.resources[0].candidates = {"gw1", "gw1"}; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.resources[0].former = {"gw1"}; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.resources[0].former.clear(); }) == "ok");
}

TEST_CASE("rules that mix protocols with what they do not have are refused") {
  CHECK(verdict([](Snapshot& s) { s.rules[0].types = {1}; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.rules[1].ports = {{1, 1}}; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.rules[0].codes = {1}; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.rules[0].protocol = Protocol::any; }) == "snapshot.field");
  CHECK(verdict([](Snapshot& s) { s.rules[0].ports = {{2, 1}}; }) == "snapshot.field");
}

TEST_CASE("services that nobody could serve are refused") {
  const auto with = [](const auto& change) {
    return verdict([&](Snapshot& s) {
      s.services = {{"www", Protocol::tcp, 80, {{*IpAddress::parse("10.1.0.5"), 1, false}}}};
      change(s.services[0]);
    });
  };
  CHECK(with([](Service&) {}) == "ok");
  CHECK(with([](Service& s) { s.protocol = Protocol::icmp; }) == "snapshot.field");
  CHECK(with([](Service& s) { s.port = 0; }) == "json.field_invalid");
  CHECK(with([](Service& s) { s.id = "www!"; }) == "snapshot.field");
  CHECK(with([](Service& s) { s.backends[0].weight = 0; }) == "json.field_invalid");
  CHECK(with([](Service& s) { s.backends.push_back(s.backends[0]); }) == "snapshot.field");
  CHECK(with([](Service& s) { s.backends.resize(256); }) == "snapshot.capacity");
}

TEST_CASE("an epoch floor may outlive its resource") {
  CHECK(verdict([](Snapshot& s) {
          s.resources.clear();
          s.prefixes.erase(s.prefixes.begin() + 4);
          s.segments[0].gateway.reset();
        }) == "ok");
}
