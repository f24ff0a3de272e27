// SPDX-License-Identifier: Apache-2.0
#include "config/policy_file.h"

#include <doctest/doctest.h>

#include "core/file.h"
#include "core/utc.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::config;
using namespace postern::testing;

namespace {

constexpr std::string_view kPolicy =
    "mesh: demo\n"
    "on_expiry: close\n"
    "authority: {threshold: 1, keys: [KEY]}\n"
    "segments:\n"
    "  - {id: blue, vni: 100}\n"
    "gateways:\n"
    "  - {id: gw1, key: KEY, underlay: [192.0.2.1], links: [\"192.0.2.1:7946\"], mac: "
    "\"02:00:00:00:01:01\",\n"
    "     addresses: [{segment: blue, address: 10.1.0.1}]}\n"
    "peers:\n"
    "  - {id: site-b, addresses: [192.0.2.2], segments: [blue], mac: \"02:00:00:00:02:01\", state: revoked,\n"
    "     not_before: 2026-01-01T00:00:00Z, expires: 2027-01-01T00:00:00Z}\n"
    "prefixes:\n"
    "  - {segment: blue, prefix: 10.1.0.0/24, owner: {gateway: gw1}, class: site-a}\n"
    "resources:\n"
    "  - {id: vip, number: 3, candidates: [gw1], ttl_ms: 5000, floor: 7}\n"
    "rules:\n"
    "  - {from: a, to: b, protocol: tcp, ports: [22, 80, \"8000-8100\"], strict: true}\n"
    "  - {from: b, to: a, protocol: icmp, types: [0, 8]}\n";

Result<PolicyFile> parsed(std::string_view text) {
  return parse_policy_file(text, "p.yaml");
}

Result<PolicyFile> replaced(std::string_view from, std::string_view to) {
  std::string text(kPolicy);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return parsed(text.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("a whole policy is read with the lines where things stand") {
  const PolicyFile policy = parsed(kPolicy).value();
  CHECK(policy.mesh == "demo");
  CHECK(policy.close_on_expiry);
  CHECK(policy.root_keys == std::vector<std::string>{"KEY"});
  CHECK(policy.segments.at(0).vni == Vni(100));
  const PolicyGateway& gateway = policy.gateways.at(0);
  CHECK(gateway.line == 7);
  CHECK(gateway.links.at(0).text() == "192.0.2.1:7946");
  CHECK(gateway.addresses.at(0).address.text() == "10.1.0.1");
  CHECK_FALSE(gateway.revoked);
  const PolicyPeer& peer = policy.peers.at(0);
  CHECK(peer.revoked);
  CHECK(peer.mac.value().text() == "02:00:00:00:02:01");
  CHECK(peer.expires.value() == parse_utc("2027-01-01T00:00:00Z").value());
  CHECK(policy.prefixes.at(0).owner_kind == "gateway");
  CHECK(policy.prefixes.at(0).line == 13);
  CHECK(policy.resources.at(0).floor == 7);
  CHECK(policy.resources.at(0).ttl_ms == 5000);
  const std::vector<std::pair<std::uint16_t, std::uint16_t>> ports = {{22, 22}, {80, 80}, {8000, 8100}};
  CHECK(policy.rules.at(0).ports == ports);
  CHECK(policy.rules.at(0).strict);
  CHECK(policy.rules.at(1).types == std::vector<std::uint8_t>{0, 8});
}

TEST_CASE("the example policy is good") {
  CHECK(outcome(parsed(read_file("config/policy.yaml", kMaxPolicyBytes).value())) == "ok");
}

TEST_CASE("the optional lists may be left out") {
  const PolicyFile policy = parsed(
                                "mesh: m\nauthority: {threshold: 1, keys: [K]}\nsegments: []\ngateways: []\n"
                                "prefixes: []\n")
                                .value();
  CHECK_FALSE(policy.close_on_expiry);
  CHECK(policy.peers.empty());
  CHECK(policy.rules.empty());
}

TEST_CASE("missing keys are refused at every level") {
  for (const std::string_view key : {"mesh: demo\n",
                                     "authority: {threshold: 1, keys: [KEY]}\n",
                                     "threshold: 1, ",
                                     ", keys: [KEY]",
                                     "id: blue, ",
                                     ", vni: 100",
                                     "id: gw1, ",
                                     "key: KEY, ",
                                     "underlay: [192.0.2.1], ",
                                     ", address: 10.1.0.1",
                                     "id: site-b, ",
                                     "addresses: [192.0.2.2], ",
                                     ", segments: [blue]",
                                     "prefix: 10.1.0.0/24, ",
                                     "owner: {gateway: gw1}, ",
                                     ", class: site-a",
                                     "number: 3, ",
                                     "candidates: [gw1], ",
                                     "from: a, ",
                                     ", to: b",
                                     ", protocol: tcp"}) {
    CAPTURE(key);
    CHECK(outcome(replaced(key, "")) == "config.missing_key");
  }
}

TEST_CASE("unknown keys are refused at every level, with place and suggestion") {
  for (const std::string_view place :
       {"threshold: 1", "id: blue", "id: gw1", "address: 10.1.0.1", "id: site-b", "prefix: 10.1.0.0/24",
        "gateway: gw1", "id: vip", "from: a"}) {
    CAPTURE(place);
    CHECK(outcome(replaced(place, std::string(place) + ", surplus: 1")) == "config.unknown_key");
  }
  CHECK(outcome(replaced("mesh: demo", "mesh: demo\ngrants: []")) == "config.unknown_key");
  CHECK(says(replaced("protocol: tcp", "protcol: tcp"),
             "p.yaml:17:22: unknown key \"protcol\" in a rule; did you mean "
             "\"protocol\"?"));
}

TEST_CASE("bad values are refused at every level, with their place") {
  const std::pair<const char*, const char*> changes[] = {
      {"on_expiry: close", "on_expiry: open"},
      {"threshold: 1", "threshold: 0"},
      {"keys: [KEY]", "keys: KEY"},
      {"keys: [KEY]", "keys: [[KEY]]"},
      {"vni: 100", "vni: 0"},
      {"vni: 100", "vni: 16777216"},
      {"underlay: [192.0.2.1]", "underlay: [192.0.2]"},
      {"underlay: [192.0.2.1]", "underlay: 192.0.2.1"},
      {"192.0.2.1:7946", "192.0.2.1"},
      {"\"02:00:00:00:01:01\"", "02-00-00-00-01-01"},
      {"address: 10.1.0.1", "address: 10.1.0.0/24"},
      {"addresses: [{segment: blue, address: 10.1.0.1}]", "addresses: [10.1.0.1]"},
      {"state: revoked", "state: gone"},
      {"2026-01-01T00:00:00Z", "2026-01-01"},
      {"2027-01-01T00:00:00Z", "tomorrow"},
      {"10.1.0.0/24", "10.1.0.1/24"},
      {"owner: {gateway: gw1}", "owner: gw1"},
      {"owner: {gateway: gw1}", "owner: {}"},
      {"owner: {gateway: gw1}", "owner: {gateway: gw1, peer: site-b}"},
      {"number: 3", "number: three"},
      {"ttl_ms: 5000", "ttl_ms: 0"},
      {"floor: 7", "floor: -7"},
      {"[22, 80, ", "[99999, 80, "},
      {"8000-8100", "8100-8000"},
      {"8000-8100", "8000-"},
      {"8000-8100", "08000-8100"},
      {"[22, 80, \"8000-8100\"]", "[]"},
      {"[22, 80, \"8000-8100\"]", "22"},
      {"[0, 8]", "[0, 256]"},
      {"[0, 8]", "[]"},
      {"strict: true", "strict: yes"},
  };
  for (const auto& change : changes) {
    CAPTURE(change.second);
    const Result<PolicyFile> result = replaced(change.first, change.second);
    CHECK(outcome(result) == "config.bad_value");
    CHECK(context(result).starts_with("p.yaml:"));
  }
}

TEST_CASE("a duplicate key inside an entry is refused") {
  CHECK(outcome(replaced("vni: 100", "vni: 100, vni: 101")) == "config.duplicate_key");
}
