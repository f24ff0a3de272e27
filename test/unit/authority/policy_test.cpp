// SPDX-License-Identifier: Apache-2.0
#include "authority/policy.h"

#include <doctest/doctest.h>

#include "authority/snapshot_codec.h"
#include "core/file.h"
#include "core/utc.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;

namespace {

Edition edition() {
  Edition out;
  out.serial = Serial(3);
  out.prev.fill(0x11);
  out.issued = parse_utc("2026-01-01T00:00:00Z").value();
  out.expires = parse_utc("2027-01-01T00:00:00Z").value();
  return out;
}

const std::string& example() {
  static const std::string text = read_file("config/policy.yaml", config::kMaxPolicyBytes).value();
  return text;
}

Result<Snapshot> compiled(std::string_view text) {
  const config::PolicyFile policy = config::parse_policy_file(text, "p.yaml").value();
  return compile_policy(policy, "p.yaml", edition());
}

// The example with its first `from` replaced by `to`.
Result<Snapshot> replaced(std::string_view from, std::string_view to) {
  std::string text = example();
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return compiled(text.replace(at, from.size(), to));
}

// "p.yaml:N:" of the line on which `part` stands in the example.
std::string line_of(std::string_view part) {
  const std::size_t at = example().find(part);
  REQUIRE(at != std::string::npos);
  const auto line =
      std::count(example().begin(), example().begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  return "p.yaml:" + std::to_string(line) + ":";
}

}  // namespace

TEST_CASE("the example policy compiles to a snapshot that the reader accepts") {
  const Snapshot snapshot = compiled(example()).value();
  CHECK(parse_snapshot(encode_snapshot(snapshot)).value() == snapshot);
  CHECK(snapshot.mesh == "demo");
  CHECK(snapshot.serial == Serial(3));
  CHECK(snapshot.prev == edition().prev);
  CHECK(snapshot.on_expiry == OnExpiry::hold);
  CHECK(snapshot.classes == std::vector<std::string>{"site-a", "site-b", "site-c"});
  CHECK(snapshot.gateways.at(0).addresses.at(0).address.text() == "10.1.0.1");
  CHECK(snapshot.peers.at(1).not_before.has_value());
  CHECK(snapshot.prefixes.at(1).owner == Owner{OwnerKind::peer, "site-b"});
  CHECK(snapshot.rules.at(0).ports.at(2) == PortRange{8000, 8100});
  CHECK(snapshot.rules.at(2).types == std::vector<std::uint8_t>{0, 8});
}

TEST_CASE("resources, floors, revocations and expiry make it into the snapshot") {
  const Snapshot snapshot =
      replaced("resources: []",
               "resources: [{id: vip, number: 4, candidates: [gw1], ttl_ms: 2000, floor: 9}]")
          .value();
  CHECK(snapshot.resources.at(0) == Resource{"vip", ResourceNumber(4), {"gw1"}, {}, 2000});
  CHECK(snapshot.epoch_floors.at(0) == EpochFloor{"vip", Epoch(9)});
  CHECK(replaced("on_expiry: hold", "on_expiry: close").value().on_expiry == OnExpiry::close);
  CHECK(replaced("state: active", "state: revoked").value().peers.at(1).state == State::revoked);
}

TEST_CASE("a mistake is named with the line of the entry that holds it") {
  const std::string_view site_a = "{segment: blue, prefix: 10.1.0.0/24";
  const std::string_view rule = "{from: site-b, to: site-c";
  const std::pair<std::string_view, std::string> lines[] = {
      {"id: blue, vni: 100", line_of("id: blue")},
      {"- id: gw1", line_of("- id: gw1")},
      {"{id: site-b", line_of("{id: site-b")},
      {site_a, line_of(site_a)},
      {rule, line_of(rule)},
  };
  CHECK(context(replaced("id: blue, vni: 100", "id: Blue, vni: 100")).starts_with(lines[0].second));
  CHECK(context(replaced("mac: \"02:00:00:00:01:01\"", "mac: \"01:00:00:00:01:01\""))
            .starts_with(lines[1].second));
  CHECK(context(replaced("segments: [blue]", "segments: [red]")).starts_with(lines[2].second));
  CHECK(context(replaced("{segment: blue, prefix: 10.1.0.0/24", "{segment: red, prefix: 10.1.0.0/24"))
            .starts_with(lines[3].second));
  CHECK(context(replaced("to: site-c", "to: site-x")).starts_with(lines[4].second));
}

TEST_CASE("mistakes in a policy end with the exit code for invalid config") {
  for (const auto& change : std::vector<std::pair<std::string, std::string>>{
           {"mesh: demo", "mesh: Demo"},
           {"id: blue, vni", "id: Blue, vni"},
           {"threshold: 1", "threshold: 2"},
           {"key: ", "key: x"},
           {"keys:\n    - ", "keys:\n    - x"},
           {"mac: \"02:00:00:00:02:01\"", "mac: \"03:00:00:00:02:01\""},
           {"addresses: [192.0.2.2]", "addresses: [10.1.0.9]"},
           {"addresses: [192.0.2.2]", "addresses: [192.0.2.1]"},
           {"address: 10.1.0.1}", "address: 10.2.0.1}"},
           {"owner: {gateway: gw1}", "owner: {gateway: gw9}"},
           {"owner: {gateway: gw1}", "owner: {resource: gw1}"},
           {"class: site-a", "class: Site"},
           {"from: site-a", "from: nobody"},
           {"to: site-b, protocol: tcp", "to: site-b, protocol: gre"},
           {"protocol: tcp, ports", "protocol: icmp, ports"},
           {"protocol: icmp, types", "protocol: udp, types"},
       }) {
    CAPTURE(change.second);
    const Result<Snapshot> result = replaced(change.first, change.second);
    CHECK(outcome(result) == "policy.invalid");
    REQUIRE_FALSE(result);
    CHECK(exit_code(result.error().code.kind) == 4);
    CHECK(context(result).starts_with("p.yaml"));
  }
}

TEST_CASE("two owners of one prefix are an ownership conflict that names both lines") {
  const Result<Snapshot> result = replaced("prefix: 10.2.0.0/24", "prefix: 10.1.0.0/24");
  CHECK(outcome(result) == "snapshot.ownership");
  CHECK(context(result).starts_with(line_of("prefix: 10.2.0.0/24")));
  CHECK(says(result, line_of("prefix: 10.1.0.0/24").substr(0, 9)));
}

TEST_CASE("an edition that expires before it is issued is refused") {
  const config::PolicyFile policy = config::parse_policy_file(example(), "p.yaml").value();
  Edition backwards = edition();
  backwards.expires = backwards.issued;
  CHECK(outcome(compile_policy(policy, "p.yaml", backwards)) == "policy.invalid");
  Edition unnumbered = edition();
  unnumbered.serial = Serial(0);
  CHECK(outcome(compile_policy(policy, "p.yaml", unnumbered)) == "policy.invalid");
}
