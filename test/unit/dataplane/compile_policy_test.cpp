// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

#include "dataplane/compile.h"
#include "dataplane/port_partition.h"
#include "support/small_mesh.h"

namespace postern::dataplane {
namespace {

using authority::PortRange;
using authority::Protocol;
using authority::Rule;
using testing::small_mesh;
using testing::small_site;
using testing::tcp_rule;

Rule rule_of(Protocol protocol, std::vector<PortRange> ports, std::vector<std::uint8_t> types = {}) {
  Rule rule = tcp_rule(std::move(ports));
  rule.protocol = protocol;
  rule.types = std::move(types);
  return rule;
}

Tables tables_of(std::vector<Rule> rules) {
  authority::Snapshot mesh = small_mesh();
  mesh.rules = std::move(rules);
  Result<Compiled> out = compile(mesh, small_site());
  REQUIRE_MESSAGE(out, (out ? "" : out.error().message()));
  return std::move(out->tables);
}

// As the packet path looks a packet up.
std::optional<pt_rule> verdict(const Tables& tables, pt_protocol protocol, std::uint16_t port,
                               std::uint16_t from = 1, std::uint16_t to = 2) {
  const std::uint8_t port_class =
      tables.port_classes[static_cast<std::size_t>(protocol) * PT_PORT_LINES + port / PT_PORT_LINE]
          .class_of[port % PT_PORT_LINE];
  for (const auto& [key, rule] : tables.policy) {
    if (key.source_class == from && key.destination_class == to && key.protocol == protocol &&
        key.port_class == port_class) {
      return rule;
    }
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("no rule allows nothing") {
  const Tables tables = tables_of({});
  CHECK(tables.policy.empty());
  CHECK_FALSE(verdict(tables, PT_PROTO_TCP, 443));
}

TEST_CASE("a rule allows its ports, its direction and its protocol, and no others") {
  const Tables tables = tables_of({tcp_rule({{80, 80}, {8000, 8099}})});
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{80, 8000, 8050, 8099})
    CHECK(verdict(tables, PT_PROTO_TCP, port));
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{0, 79, 81, 7999, 8100, 65535})
    CHECK_FALSE(verdict(tables, PT_PROTO_TCP, port));
  CHECK_FALSE(verdict(tables, PT_PROTO_TCP, 80, 2, 1));
  CHECK_FALSE(verdict(tables, PT_PROTO_UDP, 80));
}

TEST_CASE("a rule without ports allows every port of its protocol, named by others or not") {
  const Tables tables = tables_of({rule_of(Protocol::udp, {}), rule_of(Protocol::udp, {{53, 53}})});
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{0, 53, 54, 65535})
    CHECK(verdict(tables, PT_PROTO_UDP, port));
}

TEST_CASE("a rule for all ports by range still leaves the unnamed class closed") {
  const Tables tables = tables_of({tcp_rule({{0, 65535}})});
  CHECK(verdict(tables, PT_PROTO_TCP, 0));
  CHECK(verdict(tables, PT_PROTO_TCP, 65535));
  CHECK(std::none_of(tables.policy.begin(), tables.policy.end(),
                     [](const auto& row) { return row.first.port_class == 0; }));
}

TEST_CASE("ICMP rules go by type and hold for each of its codes") {
  const Tables tables =
      tables_of({rule_of(Protocol::icmp, {}, {8}), rule_of(Protocol::icmpv6, {}, {128, 255})});
  CHECK(verdict(tables, PT_PROTO_ICMP, 8 << 8));
  CHECK(verdict(tables, PT_PROTO_ICMP, 8 << 8 | 255));
  CHECK_FALSE(verdict(tables, PT_PROTO_ICMP, 9 << 8));
  CHECK_FALSE(verdict(tables, PT_PROTO_ICMP, 7 << 8 | 255));
  CHECK(verdict(tables, PT_PROTO_ICMPV6, 0xffff));
  CHECK_FALSE(verdict(tables, PT_PROTO_ICMPV6, 8 << 8));
}

TEST_CASE("where rules overlap the first one is the row's rule") {
  const Tables tables = tables_of({tcp_rule({{100, 200}}), tcp_rule({{150, 300}})});
  CHECK(verdict(tables, PT_PROTO_TCP, 120)->rule == 0);
  CHECK(verdict(tables, PT_PROTO_TCP, 180)->rule == 0);
  CHECK(verdict(tables, PT_PROTO_TCP, 250)->rule == 1);
}

TEST_CASE("a row is strict only when every rule for it is") {
  const Tables tables = tables_of({tcp_rule({{100, 200}}, true), tcp_rule({{150, 300}}, false)});
  CHECK(verdict(tables, PT_PROTO_TCP, 120)->flags == PT_RULE_STRICT);
  CHECK(verdict(tables, PT_PROTO_TCP, 180)->flags == 0);
  CHECK(verdict(tables, PT_PROTO_TCP, 250)->flags == 0);
}

TEST_CASE("ports that the same rules name share a class, and adjacent ranges of one rule too") {
  const PortPartition partition({{{10, 19}, {20, 29}}, {{10, 29}, {40, 49}}, {{10, 49}}});
  CHECK(partition.class_of(10) == partition.class_of(29));
  CHECK(partition.class_of(30) != partition.class_of(29));
  CHECK(partition.class_of(40) != partition.class_of(30));
  CHECK(partition.class_of(9) == 0);
  CHECK(partition.class_of(50) == 0);
  CHECK(partition.class_count() == 4);
  CHECK(partition.classes_in({{10, 19}, {20, 29}}) == std::vector<std::uint32_t>{partition.class_of(10)});
}

TEST_CASE("two hundred and fifty-five classes of ports fit, one more says how many") {
  std::vector<Rule> rules;
  for (std::uint16_t i = 0; i < 255; ++i)
    rules.push_back(tcp_rule({{static_cast<std::uint16_t>(1000 + i), static_cast<std::uint16_t>(1000 + i)}}));
  const Tables tables = tables_of(rules);
  CHECK(tables.policy.size() == 255);
  rules.push_back(tcp_rule({{5000, 5000}}));
  authority::Snapshot mesh = small_mesh();
  mesh.rules = rules;
  const Result<Compiled> out = compile(mesh, small_site());
  REQUIRE_FALSE(out);
  CHECK(out.error().code == errc::capacity);
  CHECK(out.error().context.find("256 classes of ports") != std::string::npos);
}

TEST_CASE("more policy rows than fit are refused") {
  authority::Snapshot mesh = small_mesh();
  mesh.classes.clear();
  for (int i = 0; i < 65; ++i)
    mesh.classes.push_back("c" + std::to_string(i));
  for (std::uint16_t i = 0; i < 255; ++i) {
    const auto port = static_cast<std::uint16_t>(1000 + i);
    Rule rule = tcp_rule({{port, port}});
    rule.from = rule.to = "c0";
    mesh.rules.push_back(rule);
  }
  // Rules for all ports between every pair of classes: 65 * 65 * 256 rows.
  for (int from = 0; from < 65; ++from) {
    for (int to = 0; to < 65; ++to) {
      Rule rule = tcp_rule({});
      rule.from = "c" + std::to_string(from);
      rule.to = "c" + std::to_string(to);
      mesh.rules.push_back(rule);
    }
  }
  const Result<Compiled> out = compile(mesh, small_site());
  REQUIRE_FALSE(out);
  CHECK(out.error().code == errc::capacity);
  CHECK(out.error().context.find("policy rows") != std::string::npos);
}

TEST_CASE("rules that say the same thing take no more rows") {
  CHECK(tables_of(std::vector<Rule>(500, tcp_rule({{443, 443}}))).policy.size() == 1);
}

}  // namespace postern::dataplane
