// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "authority/policy.h"
#include "authority/policy_test.h"
#include "authority/policy_warnings.h"
#include "authority/snapshot_diff.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;

namespace {

// Lines count: the tests below name them.
constexpr std::string_view kHead =
    "mesh: demo\n"
    "authority: {threshold: 1, keys: [\"kZibDPFhcADI/vy38Ot/vPt3jmkzFOzCwLAh4e+L1VA=\"]}\n"
    "segments: [{id: blue, vni: 100}, {id: red, vni: 200}]\n"
    "gateways:\n"
    "  - {id: gw1, key: \"3B4S4T0U7ZP3zIM1/I/S8zEcoCb6wJ2ztpfykRdJ2PU=\", underlay: [192.0.2.1],\n"
    "     mac: \"02:00:00:00:01:01\", tags: [dc]}\n"
    "peers:\n"
    "  - {id: site-b, addresses: [192.0.2.2], segments: [blue], tags: [web, prod]}\n"
    "  - {id: site-c, addresses: [192.0.2.3], segments: [blue], state: revoked, tags: [web]}\n"
    "classes:\n"
    "  - {id: dc, tags: [dc]}\n"
    "  - {id: web, tags: [web]}\n"
    "  - {id: web-prod, tags: [web, prod]}\n"
    "prefixes:\n"
    "  - {segment: blue, prefix: 10.1.0.0/24, owner: {gateway: gw1}}\n"
    "  - {segment: blue, prefix: 10.2.0.0/24, owner: {peer: site-b}}\n"
    "  - {segment: blue, prefix: 10.3.0.0/24, owner: {peer: site-c}}\n"
    "  - {segment: red, prefix: 10.4.0.0/24, owner: {gateway: gw1}, class: laboratory}\n"
    "port_sets: {web: [80, \"8000-8100\"]}\n";

struct Compiled {
  config::PolicyFile policy;
  Snapshot snapshot;
};

Result<Compiled> compiled(std::string text, const Snapshot* before = nullptr) {
  Result<config::PolicyFile> policy = config::parse_policy_file(text, "p.yaml");
  if (!policy) return pass_on(std::move(policy));
  Edition edition;
  edition.serial = Serial(1);
  edition.expires = UtcSeconds(1);
  Result<Snapshot> snapshot = compile_policy(*policy, "p.yaml", edition, before);
  if (!snapshot) return pass_on(std::move(snapshot));
  return Compiled{std::move(*policy), std::move(*snapshot)};
}

std::string head(std::string_view from = "", std::string_view to = "") {
  std::string text(kHead);
  if (from.empty()) return text;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// The head without the class that it has not declared.
std::string sound_head() {
  return head(", class: laboratory", "");
}

std::vector<PolicyTestResult> tested(const std::string& text) {
  const Result<Compiled> result = compiled(text);
  REQUIRE(result);
  return run_policy_tests(result->policy, result->snapshot);
}

std::vector<std::string> warned(const std::string& rules) {
  const Result<Compiled> result = compiled(sound_head() + "rules:\n" + rules);
  REQUIRE(result);
  return policy_warnings(result->policy, result->snapshot, "p.yaml");
}

// A line a change.
std::string said_of(const Snapshot& before, const Snapshot& after) {
  std::string said;
  for (const Change& change : diff_snapshots(before, after))
    said += std::string(change.kind) + ": " + change.subject + " " + change.text + "\n";
  return said;
}

}  // namespace

TEST_CASE("a prefix without a class is of the class with most of its owner's tags") {
  const Result<Compiled> result = compiled(sound_head());
  REQUIRE(result);
  CHECK(result->snapshot.classes == std::vector<std::string>{"dc", "web", "web-prod"});
  CHECK(result->snapshot.prefixes[0].class_id == "dc");
  CHECK(result->snapshot.prefixes[1].class_id == "web-prod");
  CHECK(result->snapshot.prefixes[2].class_id == "web");
}

TEST_CASE("a prefix whose tags lead to no class, or to two, is refused with both lines") {
  std::string text = sound_head();
  text.replace(text.find(", tags: [dc]}"), 13, "}           ");
  CHECK(says(compiled(text), "p.yaml:15: the prefix 10.1.0.0/24 names no class"));
  text = sound_head();
  text.replace(text.find("tags: [web, prod]}\nprefixes"), 17, "tags: [prod]     ");
  CHECK(
      says(compiled(text),
           "p.yaml:16: the tags of 10.2.0.0/24 lead to \"web\" (line 12) as well as \"web-prod\" (line 13)"));
}

TEST_CASE("a misspelled name is refused with line, column and the one that was meant") {
  CHECK(says(compiled(head()),
             "p.yaml:18:71: there is no class \"laboratory\"; known here are dc, web, web-prod"));
  CHECK(says(compiled(head("{segment: blue, prefix: 10.2", "{segment: bleu, prefix: 10.2")),
             "p.yaml:16:15: there is no segment \"bleu\"; did you mean \"blue\"?"));
  CHECK(says(compiled(head("peer: site-b", "peer: siteb")),
             "p.yaml:16:56: there is no peer \"siteb\"; did you mean \"site-b\"?"));
  CHECK(says(compiled(head("owner: {gateway: gw1}}", "owner: {gateway: gw11}}")),
             "there is no gateway \"gw11\"; did you mean \"gw1\"?"));
  CHECK(says(compiled(sound_head() + "rules: [{from: dc, to: wed, protocol: tcp}]\n"),
             "p.yaml:20:24: there is no class \"wed\"; did you mean \"web\"?"));
  CHECK(says(compiled(sound_head() + "rules: [{from: dc, to: web, protocol: tcp, ports: [wbe]}]\n"),
             "p.yaml:20:52: there is no port set \"wbe\"; did you mean \"web\"?"));
}

TEST_CASE("a rule may name port sets among its ports") {
  const Result<Compiled> result =
      compiled(sound_head() + "rules: [{from: dc, to: web-prod, protocol: tcp, ports: [22, web]}]\n");
  REQUIRE(result);
  CHECK(result->snapshot.rules[0].ports == std::vector<PortRange>{{22, 22}, {80, 80}, {8000, 8100}});
}

TEST_CASE("the tests of a policy are judged by what was compiled") {
  const std::vector<PolicyTestResult> results =
      tested(sound_head() +
             "rules: [{from: dc, to: web-prod, protocol: tcp, ports: [web]}, {from: dc, to: web, protocol: "
             "icmp, types: [8]}]\n"
             "tests:\n"
             "  - {segment: blue, from: 10.1.0.5, to: 10.2.0.9, protocol: tcp, port: 8042, expect: allow}\n"
             "  - {segment: blue, from: 10.1.0.5, to: 10.2.0.9, protocol: tcp, port: 81, expect: deny}\n"
             "  - {segment: blue, from: 10.1.0.5, to: 10.2.0.9, protocol: udp, port: 80, expect: deny}\n"
             "  - {segment: blue, from: 10.2.0.9, to: 10.1.0.5, protocol: tcp, port: 80, expect: deny}\n"
             "  - {segment: red, from: 10.1.0.5, to: 10.2.0.9, protocol: tcp, port: 80, expect: deny}\n"
             "  - {segment: blue, from: 10.1.0.5, to: 10.3.0.9, protocol: icmp, type: 8, expect: deny}\n"
             "  - {segment: blue, from: 10.1.0.5, to: 10.2.0.9, protocol: tcp, port: 22, expect: allow}\n");
  REQUIRE(results.size() == 7);
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(results[i].what);
    CAPTURE(results[i].because);
    CHECK(results[i].passed());
  }
  CHECK(results[5].because.find("revoked peer \"site-c\"") != std::string::npos);
  CHECK_FALSE(results[6].passed());
  const Result<> required = require_policy_tests(results, "p.yaml");
  CHECK(outcome(required) == "policy.test");
  CHECK(says(required, "p.yaml:28: 10.1.0.5 to 10.2.0.9 in blue, tcp port 22 must be allowed, but is not"));
  CHECK(says(required, "1 of 7 tests"));
  CHECK(require_policy_tests({results.begin(), results.begin() + 6}, "p.yaml"));
}

namespace {

// A service of gw1's site at 10.1.0.80, another one of UDP, and a host at each side.
std::string with_services(
    const std::string& backends = "[{address: 10.1.0.5}, {address: 10.2.0.9, drain: true}]") {
  std::string text = sound_head();
  text.insert(text.find("port_sets:"),
              "  - {segment: blue, prefix: 10.1.0.80/32, owner: {service: www}, class: dc}\n"
              "  - {segment: blue, prefix: 10.1.0.53/32, owner: {service: names}, class: dc}\n");
  return text + "services:\n  - {id: www, protocol: tcp, port: 443, backends: " + backends +
         "}\n  - {id: names, protocol: udp, port: 53, backends: [{address: 10.1.0.5}]}\n";
}

std::string test_line(std::string_view from, std::string_view to, std::string_view what,
                      std::string_view expect) {
  return "  - {segment: blue, from: " + std::string(from) + ", to: " + std::string(to) +
         ", protocol: " + std::string(what) + ", expect: " + std::string(expect) + "}\n";
}

}  // namespace

TEST_CASE("a policy's tests reach a service by its door alone, and nothing but an answer from it") {
  const std::string rules =
      "rules: [{from: web-prod, to: dc, protocol: any}, {from: dc, to: web-prod, protocol: any}]\n";
  const std::string host = "10.2.0.7";
  const std::vector<PolicyTestResult> results =
      tested(with_services() + rules + "tests:\n" + test_line(host, "10.1.0.80", "tcp, port: 443", "allow") +
             test_line(host, "10.1.0.80", "tcp, port: 80", "deny") +
             test_line(host, "10.1.0.80", "udp, port: 443", "deny") +
             test_line(host, "10.1.0.80", "icmp, type: 8", "deny") +
             test_line("10.1.0.80", host, "tcp, port: 443", "deny") +
             test_line("10.1.0.53", host, "udp, port: 5000", "allow") +
             test_line("10.1.0.53", host, "tcp, port: 5000", "deny") +
             test_line(host, "10.1.0.53", "udp, port: 53", "allow"));
  REQUIRE(results.size() == 8);
  for (const PolicyTestResult& result : results) {
    CAPTURE(result.what);
    CAPTURE(result.because);
    CHECK(result.passed());
  }
  CHECK(results[1].because == "service \"www\" takes tcp port 443 alone");
  CHECK(results[4].because ==
        "the address of service \"www\" answers from tcp port 443 and asks for nothing");
}

TEST_CASE("a policy's test does not reach a service whose backends all drain") {
  const std::string rules = "rules: [{from: web-prod, to: dc, protocol: tcp}]\ntests:\n";
  const std::string line = test_line("10.2.0.7", "10.1.0.80", "tcp, port: 443", "allow");
  CHECK(tested(with_services() + rules + line)[0].passed());
  const PolicyTestResult result =
      tested(with_services("[{address: 10.1.0.5, drain: true}]") + rules + line)[0];
  CHECK_FALSE(result.passed());
  CHECK(result.because == "service \"www\" has no backend that takes new flows");
}

TEST_CASE("a policy's test of an ICMP type is of all its codes, unless it names one") {
  const std::string rules =
      "rules: [{from: dc, to: web-prod, protocol: icmp, types: [3], codes: [4, 13]}]\ntests:\n";
  const auto passes = [&](std::string_view what, std::string_view expect) {
    return tested(sound_head() + rules + test_line("10.1.0.5", "10.2.0.9", what, expect))[0].passed();
  };
  CHECK(passes("icmp, type: 3, code: 4", "allow"));
  CHECK(passes("icmp, type: 3, code: 13", "allow"));
  CHECK(passes("icmp, type: 3, code: 1", "deny"));
  CHECK_FALSE(passes("icmp, type: 3, code: 1", "allow"));
  CHECK_FALSE(passes("icmp, type: 3", "allow"));
  CHECK_FALSE(passes("icmp, type: 3", "deny"));
  CHECK(passes("icmp, type: 4, code: 4", "deny"));
  const std::string line = test_line("10.1.0.5", "10.2.0.9", "icmp, type: 3, code: 4", "allow");
  CHECK(tested(sound_head() + rules + line)[0].what == "10.1.0.5 to 10.2.0.9 in blue, icmp type 3 code 4");
  CHECK(says(compiled(sound_head() + "tests:\n" +
                      test_line("10.1.0.5", "10.2.0.9", "tcp, port: 80, code: 4", "allow")),
             "code"));
}

TEST_CASE("rules that say nothing new, or that no packet matches, are warned about with their lines") {
  CHECK(warned("  - {from: dc, to: web-prod, protocol: tcp, ports: [80]}\n").empty());
  CHECK(
      warned("  - {from: dc, to: web-prod, protocol: tcp}\n  - {from: dc, to: web-prod, protocol: tcp}\n") ==
      std::vector<std::string>{"p.yaml:22: this rule is written on line 21 already; remove one"});
  CHECK(warned("  - {from: dc, to: web-prod, protocol: tcp, ports: [80]}\n  - {from: dc, to: web-prod, "
               "protocol: tcp, ports: [web]}\n") ==
        std::vector<std::string>{
            "p.yaml:21: this rule is shadowed by the one on line 22, which allows all of it"});
  CHECK(warned("  - {from: dc, to: web-prod, protocol: tcp, ports: [80]}\n  - {from: dc, to: web-prod, "
               "protocol: tcp, strict: true}\n")
            .empty());
  CHECK(
      warned("  - {from: dc, to: web, protocol: tcp}\n") ==
      std::vector<std::string>{"p.yaml:21: this rule matches no packet: class \"web\" has no prefix in use"});
  CHECK(warned("  - {from: dc, to: web-prod, protocol: icmpv6}\n").size() == 1);
}

TEST_CASE("a policy that follows a snapshot keeps tombstones, former candidates and floors") {
  const std::string two =
      "  - {id: gw2, key: \"kZibDPFhcADI/vy38Ot/vPt3jmkzFOzCwLAh4e+L1VA=\", underlay: [192.0.2.9], mac: "
      "\"02:00:00:00:01:02\"}\n";
  std::string first = sound_head();
  first.insert(first.find("peers:\n"), two);
  first += "resources: [{id: vip, number: 1, candidates: [gw1, gw2], floor: 7}]\n";
  const Result<Compiled> before = compiled(first);
  REQUIRE(before);
  const std::string second = sound_head() + "resources: [{id: vip, number: 1, candidates: [gw1]}]\n";
  const Result<Compiled> after = compiled(second, &before->snapshot);
  REQUIRE(after);
  REQUIRE(after->snapshot.tombstones.size() == 1);
  CHECK(after->snapshot.tombstones[0].id == "gw2");
  CHECK(after->snapshot.tombstones[0].key == before->snapshot.gateways[1].key);
  CHECK(after->snapshot.resources[0].former == std::vector<std::string>{"gw2"});
  CHECK(after->snapshot.epoch_floors == std::vector<EpochFloor>{{"vip", Epoch(7)}});
  // They stay, however many snapshots follow; a gateway that comes back leaves its grave.
  const Result<Compiled> third = compiled(second, &after->snapshot);
  REQUIRE(third);
  CHECK(third->snapshot.tombstones == after->snapshot.tombstones);
  CHECK(third->snapshot.resources[0].former == std::vector<std::string>{"gw2"});
  const Result<Compiled> back = compiled(first, &third->snapshot);
  REQUIRE(back);
  CHECK(back->snapshot.tombstones.empty());
  CHECK(back->snapshot.resources[0].former.empty());
}

TEST_CASE("a gateway's new key and a resource's reused number are refused after the snapshot before") {
  const Result<Compiled> before =
      compiled(sound_head() + "resources: [{id: vip, number: 1, candidates: [gw1]}]\n");
  REQUIRE(before);
  std::string rekeyed = sound_head();
  rekeyed.replace(rekeyed.find("3B4S"), 4, "4B4S");
  CHECK(says(compiled(rekeyed, &before->snapshot), "gateway \"gw1\" has another key than before"));
  CHECK(says(
      compiled(sound_head() + "resources: [{id: vip2, number: 1, candidates: [gw1]}]\n", &before->snapshot),
      "numbers are never reused"));
}

TEST_CASE("a diff says in words who is cut, what moves and which rules are lost") {
  const std::string rules = "rules: [{from: dc, to: web-prod, protocol: tcp, ports: [80]}]\n";
  const Result<Compiled> before = compiled(sound_head() + rules);
  REQUIRE(before);
  CHECK(diff_snapshots(before->snapshot, before->snapshot).empty());
  std::string text = sound_head() + "rules: []\n";
  text.replace(text.find("prefix: 10.2.0.0/24, owner: {peer: site-b}"), 42,
               "prefix: 10.2.0.0/24, owner: {gateway: gw1}");
  text.replace(text.find("segments: [blue], tags: [web, prod]"), 35, "segments: [blue], state: revoked   ");
  text.replace(text.find("{segment: red, prefix: 10.4.0.0/24"), 34, "{segment: red, prefix: 10.5.0.0/24");
  text.replace(text.find("threshold: 1"), 12, "threshold: 1");
  const Result<Compiled> after = compiled(text);
  REQUIRE(after);
  CHECK(said_of(before->snapshot, after->snapshot) ==
        "peer.cut: peer site-b is cut off: it is revoked\n"
        "prefix.lost: 10.4.0.0/24 in red is lost to gateway gw1: nobody owns it\n"
        "prefix.moved: 10.2.0.0/24 in blue moves from peer site-b to gateway gw1\n"
        "prefix.class: 10.2.0.0/24 in blue its class changes from web-prod to dc\n"
        "prefix.added: 10.5.0.0/24 in red is new, owned by gateway gw1\n"
        "rule.lost: dc to web-prod, tcp ports 80 is no longer allowed by this rule\n");
}

TEST_CASE("a diff says what changes of services, ICMP codes and packet rates") {
  const std::string rule = "rules: [{from: dc, to: web-prod, protocol: icmp, types: [3], codes: [4]}]\n";
  const Result<Compiled> before = compiled(with_services() + rule);
  REQUIRE(before);
  std::string text = with_services("[{address: 10.1.0.5, weight: 3}, {address: 10.2.0.9}]") + rule;
  const auto replace = [&text](std::string_view from, std::string_view to) {
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  replace("port: 443", "port: 8443");
  replace("  - {id: names, protocol: udp, port: 53", "  - {id: resolver, protocol: udp, port: 53");
  replace("{service: names}", "{service: resolver}");
  replace("codes: [4]", "codes: [4, 13]");
  replace("tags: [web, prod]}", "tags: [web, prod], packet_rate: 5000}");
  const Result<Compiled> after = compiled(text);
  REQUIRE(after);
  CHECK(said_of(before->snapshot, after->snapshot) ==
        "peer.changed: peer site-b its packet rate changes from none to 5000 packets a second\n"
        "prefix.moved: 10.1.0.53/32 in blue moves from service names to service resolver\n"
        "service.lost: service names is removed\n"
        "service.changed: service www its port changes from tcp 443 to tcp 8443\n"
        "service.changed: service www who answers for it changes from 10.1.0.5 (weight 1), 10.2.0.9 (weight "
        "1, draining) to 10.1.0.5 (weight 3), 10.2.0.9 (weight 1)\n"
        "service.added: service resolver is new, backends 10.1.0.5 (weight 1)\n"
        "rule.lost: dc to web-prod, icmp types 3 codes 4 is no longer allowed by this rule\n"
        "rule.added: dc to web-prod, icmp types 3 codes 4, 13 is allowed from now on\n");
}
