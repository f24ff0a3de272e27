// SPDX-License-Identifier: Apache-2.0
#include "authority/snapshot_codec.h"

#include <doctest/doctest.h>

#include "abi.h"

#include "unit/authority/sample_snapshot.h"
#include "unit/outcome.h"
#include "wire/json.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;
using wire::Json;

namespace {

const std::string& sample_text() {
  static const std::string text = encode_snapshot(sample_snapshot());
  return text;
}

// The sample with its first `from` replaced by `to`.
std::string replaced_text(std::string_view from, std::string_view to) {
  std::string text = sample_text();
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Result<Snapshot> replaced(std::string_view from, std::string_view to) {
  return parse_snapshot(replaced_text(from, to));
}

Json sample_json() {
  return wire::parse_canonical(sample_text(), kMaxSnapshotBytes).value();
}

// A copy of `object` without the member `key`.
Json without(const Json& object, std::string_view key) {
  Json out = Json::object();
  for (const auto& [name, value] : *object.as_object()) {
    if (name != key) out.set(name, value);
  }
  return out;
}

Result<Snapshot> parsed(const Json& json) {
  return parse_snapshot(wire::encode_canonical(json));
}

}  // namespace

TEST_CASE("a snapshot comes back from its payload as it was") {
  CHECK(parse_snapshot(sample_text()).value() == sample_snapshot());
  Snapshot bare;
  bare.mesh = "m";
  bare.serial = Serial(1);
  bare.expires = UtcSeconds(1);
  bare.root = {1, {sample_key(1)}};
  CHECK(parse_snapshot(encode_snapshot(bare)).value() == bare);
}

TEST_CASE("the payload spells things as the document's grammar has them") {
  for (
      const std::string_view part :
      {R"("classes":[{"id":"site-a"},{"id":"site-b"},{"id":"shared"}])",
       R"("epoch_floors":[{"epoch":"18446744073709551615","resource":"vip"},{"epoch":"1","resource":"gone"}])",
       R"("expires":"2027-01-01T00:00:00Z")", R"("grants":[])", R"("mesh":"demo","on_expiry":"close")",
       R"({"address":"10.1.0.1","segment":"blue"})",
       R"("links":["192.0.2.1:7946"],"mac":"02:00:00:00:01:01")",
       R"("rate":"18446744073709551615","segments":["blue","red"],"state":"revoked","via":"gw2")",
       R"({"class":"site-a","owner":{"gateway":"gw1"},"prefix":"10.1.0.0/24","segment":"blue"})",
       R"({"candidates":["gw1","gw2"],"former":["gw0"],"id":"vip","number":3,"ttl_ms":5000})",
       R"({"fragments":true,"from":"site-a","ports":[[22,22],[8000,8100]],"protocol":"tcp","strict":true,"to":"site-b"})",
       R"({"from":"site-b","protocol":"icmp","to":"site-a","types":[0,8]})",
       R"({"gateway":"10.9.0.1","id":"blue","mac":"02:00:00:00:09:01","vni":100},{"id":"red","vni":200})",
       R"("serial":7,"services":[],"tombstones":[{"id":"gw0","key":")", R"(,"v":1})"}) {
    CAPTURE(part);
    CHECK(sample_text().find(part) != std::string::npos);
  }
}

TEST_CASE("every member of the document but the optional ones is required") {
  const Json json = sample_json();
  for (const auto& member : *json.as_object()) {
    const std::string& key = member.first;
    CAPTURE(key);
    CHECK(outcome(parsed(without(json, key))) == "json.field_missing");
  }
  for (const std::string_view list :
       {"gateways", "peers", "prefixes", "resources", "tombstones", "epoch_floors", "classes"}) {
    const Json first = json.find(list)->as_array()->front();
    for (const auto& member : *first.as_object()) {
      const std::string& key = member.first;
      CAPTURE(list);
      CAPTURE(key);
      Json changed = json;
      changed.set(std::string(list), Json::array({without(first, key)}));
      const std::string result = outcome(parsed(changed));
      const bool optional = list == "peers" && (key == "expires" || key == "mac" || key == "not_before" ||
                                                key == "rate" || key == "via");
      CHECK((result == "json.field_missing") == !optional);
    }
  }
}

TEST_CASE("an unknown member is refused wherever it stands") {
  Json json = sample_json();
  json.set("zone", 1);
  CHECK(outcome(parsed(json)) == "json.field_unknown");
  for (const std::string_view list : {"gateways", "peers", "prefixes", "resources", "tombstones",
                                      "epoch_floors", "classes", "segments", "rules"}) {
    CAPTURE(list);
    Json changed = sample_json();
    Json first = changed.find(list)->as_array()->front();
    first.set("zone", 1);
    changed.set(std::string(list), Json::array({first}));
    CHECK(outcome(parsed(changed)) == "json.field_unknown");
    CHECK(says(parsed(changed), std::string(list) + "[0].zone"));
  }
  CHECK(outcome(replaced(R"("threshold":2})", R"("threshold":2,"zone":1})")) == "json.field_unknown");
  CHECK(outcome(replaced(R"({"address":"10.1.0.1","segment":"blue"})",
                         R"({"address":"10.1.0.1","segment":"blue","zone":1})")) == "json.field_unknown");
}

TEST_CASE("bytes that are not canonical are refused") {
  CHECK(outcome(parse_snapshot(sample_text() + "\n")) == "json.white_space");
  CHECK(outcome(replaced(R"("v":1)", R"("v": 1)")) == "json.white_space");
  CHECK(outcome(replaced(R"("mesh":"demo")", R"("mesh":"\u0064emo")")) == "json.escape");
  CHECK(outcome(replaced(R"("v":1})", R"("v":1,"v":1})")) == "json.duplicate_key");
  CHECK(outcome(replaced(R"("serial":7)", R"("serial":7.0)")) == "json.float");
  CHECK(outcome(parse_snapshot("")) == "json.syntax");
  CHECK(outcome(parse_snapshot("[]")) == "json.field_invalid");
}

TEST_CASE("another version of the document is refused and said to be newer") {
  CHECK(outcome(replaced(R"("v":1})", R"("v":2})")) == "snapshot.field");
  CHECK(says(replaced(R"("v":1})", R"("v":2})"), "version 1 only"));
  CHECK(outcome(replaced(R"("v":1})", R"("v":0})")) == "json.field_invalid");
  CHECK(outcome(replaced(R"("v":1})", R"("v":"1"})")) == "json.field_invalid");
}

TEST_CASE("services, codes, rates and tunnels are read as they are written") {
  const std::string text = replaced_text(
      R"("services":[])",
      R"("services":[{"backends":[{"address":"10.1.0.5","drain":true,"weight":3}],"id":"www","port":80,"protocol":"tcp"}])");
  const Result<Snapshot> read = parse_snapshot(text);
  REQUIRE_MESSAGE(read, (read ? "" : read.error().message()));
  REQUIRE(read->services.size() == 1);
  CHECK(read->services[0] == Service{"www", Protocol::tcp, 80, {{*IpAddress::parse("10.1.0.5"), 3, true}}});
  CHECK(encode_snapshot(*read) == text);
  Snapshot changed = *read;
  changed.peers[0].rate_packets_per_s = 5;
  changed.peers[0].tunnel = Tunnel::geneve;
  changed.rules[0].protocol = Protocol::icmp;
  changed.rules[0].ports.clear();
  changed.rules[0].types = {3};
  changed.rules[0].codes = {4};
  const Result<Snapshot> again = parse_snapshot(encode_snapshot(changed));
  REQUIRE_MESSAGE(again, (again ? "" : again.error().message()));
  CHECK(*again == changed);
  CHECK(says(replaced(R"("services":[])", R"("services":[{}])"), "services[0]"));
}

TEST_CASE("grants are refused as not supported by this version") {
  CHECK(says(replaced(R"("grants":[])", R"("grants":[{"id":"g"}])"), "not supported by this version"));
}

TEST_CASE("a payload larger than the limit is refused before it is read") {
  CHECK(outcome(parse_snapshot(std::string(kMaxSnapshotBytes + 1, ' '))) == "snapshot.too_large");
}

TEST_CASE("values of a wrong form or type are refused") {
  const std::pair<std::string_view, std::string_view> changes[] = {
      {R"("serial":7)", R"("serial":0)"},
      {R"("serial":7)", R"("serial":"7")"},
      {R"("prev":"ab)", R"("prev":"AB)"},
      {R"("prev":"abab)", R"("prev":"ab)"},
      {"2026-01-01T00:00:00Z", "2026-01-01 00:00:00Z"},
      {"2027-01-01T00:00:00Z", "2027-02-30T00:00:00Z"},
      {R"("on_expiry":"close")", R"("on_expiry":"open")"},
      {R"("threshold":2)", R"("threshold":0)"},
      {R"("threshold":2)", R"("threshold":65)"},
      {R"("address":"10.1.0.1")", R"("address":"10.1.0.01")"},
      {R"("address":"fd00:1::1")", R"("address":"fd00:1:0::1")"},
      {R"("address":"fd00:1::1")", R"("address":"FD00:1::1")"},
      {R"("links":["192.0.2.1:7946"])", R"("links":["192.0.2.1"])"},
      {R"("links":["192.0.2.1:7946"])", R"("links":[7946])"},
      {R"("links":["192.0.2.1:7946"])", R"("links":"192.0.2.1:7946")"},
      {R"("mac":"02:00:00:00:01:01")", R"("mac":"02-00-00-00-01-01")"},
      {R"("state":"active")", R"("state":"gone")"},
      {R"("underlay":["192.0.2.1"])", R"("underlay":["192.0.2.256"])"},
      {R"("vni":100)", R"("vni":0)"},
      {R"("vni":100)", R"("vni":16777216)"},
      {R"("rate":"18446744073709551615")", R"("rate":"18446744073709551616")"},
      {R"("rate":"18446744073709551615")", R"("rate":5)"},
      {R"("owner":{"gateway":"gw1"})", R"("owner":{})"},
      {R"("owner":{"gateway":"gw1"})", R"("owner":{"gateway":"gw1","peer":"site-b"})"},
      {R"("owner":{"gateway":"gw1"})", R"("owner":{"nobody":"gw1"})"},
      {R"("owner":{"gateway":"gw1"})", R"("owner":{"gateway":1})"},
      {R"("owner":{"gateway":"gw1"})", R"("owner":"gw1")"},
      {"10.1.0.0/24", "10.1.0.1/24"},
      {"fd00:1::/64", "fd00:1:0::/64"},
      {R"("number":3)", R"("number":4096)"},
      {R"("number":3)", R"("number":-1)"},
      {R"("ttl_ms":5000)", R"("ttl_ms":99)"},
      {R"("ttl_ms":5000)", R"("ttl_ms":3600001)"},
      {R"("protocol":"tcp")", R"("protocol":"sctp")"},
      {"[[22,22],[8000,8100]]", "[]"},
      {"[[22,22],[8000,8100]]", "[22]"},
      {"[[22,22],[8000,8100]]", "[[22]]"},
      {"[[22,22],[8000,8100]]", "[[22,65536]]"},
      {"[[22,22],[8000,8100]]", "[[-1,22]]"},
      {R"("types":[0,8])", R"("types":[])"},
      {R"("types":[0,8])", R"("types":[256])"},
      {R"("types":[0,8])", R"("types":["8"])"},
      {R"("strict":true)", R"("strict":false)"},
      {R"("strict":true)", R"("strict":1)"},
      {R"("fragments":true)", R"("fragments":false)"},
      {R"("epoch":"1")", R"("epoch":1)"},
      {R"("epoch":"1")", R"("epoch":"01")"},
      {R"("classes":[{"id":"site-a"})", R"("classes":["site-a")"},
      {R"("mesh":"demo")", R"("mesh":["demo"])"},
  };
  for (const auto& change : changes) {
    CAPTURE(change.second);
    CHECK(outcome(replaced(change.first, change.second)) == "json.field_invalid");
  }
}

TEST_CASE("keys must be base64 of 32 bytes") {
  const std::string key = sample_key(1).text();
  for (const std::string& bad :
       {key.substr(0, 40), key.substr(0, 43) + "A", std::string("x"), std::string()}) {
    CHECK(outcome(replaced(key, bad)) == "json.field_invalid");
    CHECK(outcome(replaced(sample_key(201).text(), bad)) == "json.field_invalid");
  }
}

TEST_CASE("an error names the path of what is wrong") {
  CHECK(says(replaced(R"("vni":200)", R"("vni":0)"),
             "segments[1].vni is 0, expected an integer from 1 to 16777215"));
  CHECK(says(replaced(R"("address":"fd00:1::1")", R"("address":"x")"),
             "gateways[0].addresses[1].address is \"x\""));
  CHECK(says(replaced(R"("owner":{"gateway":"gw1"})", R"("owner":{"gateway":1})"),
             "prefixes[0].owner.gateway is 1"));
}

TEST_CASE("a list is read no further than its limit") {
  Snapshot many = sample_snapshot();
  many.classes.assign(PT_MAX_CLASSES + 1, "a");
  const Result<Snapshot> result = parse_snapshot(encode_snapshot(many));
  CHECK(outcome(result) == "snapshot.capacity");
  CHECK(says(result, "classes has more than 65535 entries"));
  Snapshot listed = sample_snapshot();
  listed.peers[0].segments.assign(1025, "blue");
  CHECK(says(parse_snapshot(encode_snapshot(listed)), "peers[0].segments has more than 1024 entries"));
}
