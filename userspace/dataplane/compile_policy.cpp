// SPDX-License-Identifier: Apache-2.0
// Rules become exact rows: one for each class of ports (or ICMP types) that a rule spans, so that the packet
// path asks once, whatever the number of rules. A rule without ports spans all classes of its protocol, the
// unnamed one too; a rule of any protocol does so for each of them. Where rules overlap the first one gives
// the row its number, and the row is strict only if all of them are. A rule with `fragments` has a row more,
// for what has no ports.
#include <array>
#include <map>

#include "authority/snapshot_names.h"
#include "dataplane/compile_parts.h"
#include "dataplane/port_partition.h"

namespace postern::dataplane {
namespace {

using authority::PortRange;
using authority::Protocol;
using authority::Rule;
using authority::Snapshot;
using PolicyRows = Rows<pt_policy_key, pt_rule>;

// Rows of equal key are merged when this many have piled up, which bounds the memory of rules that overlap.
constexpr std::size_t kMergeAtRows = 4 * std::size_t{PT_MAX_POLICY_ROWS};

constexpr std::string_view kProtocolNames[PT_PROTO_COUNT] = {"tcp", "udp", "icmp", "icmpv6", "other"};

bool is_about(const Rule& rule, unsigned protocol) {
  switch (rule.protocol) {
    case Protocol::tcp:
      return protocol == PT_PROTO_TCP;
    case Protocol::udp:
      return protocol == PT_PROTO_UDP;
    case Protocol::icmp:
      return protocol == PT_PROTO_ICMP;
    case Protocol::icmpv6:
      return protocol == PT_PROTO_ICMPV6;
    case Protocol::any:
      return true;
  }
  return false;
}

// "from web to db": how errors name a rule, with its place in the list.
std::string name_of(const Rule& rule, std::size_t position) {
  return "rule " + std::to_string(position + 1) + " (" + rule.from + " to " + rule.to + ")";
}

Result<> check_supported(const Rule& rule, std::size_t position) {
  const bool has_ports = rule.protocol == Protocol::tcp || rule.protocol == Protocol::udp;
  const bool has_types = rule.protocol == Protocol::icmp || rule.protocol == Protocol::icmpv6;
  if ((!has_ports && !rule.ports.empty()) || (!has_types && !rule.types.empty()) ||
      (rule.types.empty() && !rule.codes.empty())) {
    return fail(errc::unsupported,
                name_of(rule, position) + " has ports, types or codes that its protocol does not have");
  }
  for (const PortRange& range : rule.ports) {
    if (range.first > range.last) {
      return fail(errc::unsupported, name_of(rule, position) + " has the empty port range " +
                                         std::to_string(range.first) + "-" + std::to_string(range.last));
    }
  }
  return {};
}

// What a rule selects in the 16-bit space of its protocol; empty for all of it.
std::vector<PortRange> selection(const Rule& rule) {
  std::vector<PortRange> out = rule.ports;
  for (const std::uint8_t type : rule.types) {
    const auto first = static_cast<std::uint16_t>(type << 8);
    if (rule.codes.empty()) out.push_back({first, static_cast<std::uint16_t>(first | 255)});
    for (const std::uint8_t code : rule.codes) {
      const auto one = static_cast<std::uint16_t>(first | code);
      out.push_back({one, one});
    }
  }
  return out;
}

struct RangeOrder {
  bool operator()(const std::vector<PortRange>& a, const std::vector<PortRange>& b) const {
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(),
        [](const auto& x, const auto& y) { return std::pair(x.first, x.last) < std::pair(y.first, y.last); });
  }
};

// A protocol's port classes, and the classes of each selection that its rules make.
struct ProtocolClasses {
  PortPartition partition;
  std::map<std::vector<PortRange>, std::vector<std::uint32_t>, RangeOrder> selections;
};

Result<ProtocolClasses> classes_of(const Snapshot& snapshot, unsigned protocol) {
  std::map<std::vector<PortRange>, std::vector<std::uint32_t>, RangeOrder> selections;
  std::vector<std::vector<PortRange>> lists;
  for (const Rule& rule : snapshot.rules) {
    if (!is_about(rule, protocol)) continue;
    std::vector<PortRange> selected = selection(rule);
    if (!selections.try_emplace(selected).second || selected.empty()) continue;
    lists.push_back(std::move(selected));
  }
  ProtocolClasses out{PortPartition(lists), std::move(selections)};
  if (out.partition.class_count() > PT_MAX_PORT_CLASSES) {
    return fail(errc::capacity, "the " + std::string(kProtocolNames[protocol]) + " rules tell " +
                                    std::to_string(out.partition.class_count() - 1) +
                                    " classes of ports apart, and there is room for " +
                                    std::to_string(PT_MAX_PORT_CLASSES - 1) +
                                    "; use fewer different port ranges");
  }
  for (auto& [selected, classes] : out.selections) {
    classes = out.partition.classes_in(selected.empty() ? std::vector<PortRange>{PortRange{}} : selected);
    // The unnamed class may have no port left; its row costs nothing and keeps "all" plain.
    if (selected.empty() && (classes.empty() || classes.front() != 0)) classes.insert(classes.begin(), 0);
  }
  return out;
}

void merge_rows(PolicyRows& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::memcmp(&a.first, &b.first, sizeof a.first) < 0;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (kept > 0 && std::memcmp(&rows[kept - 1].first, &rows[i].first, sizeof rows[i].first) == 0) {
      rows[kept - 1].second.flags &= rows[i].second.flags;
    } else {
      rows[kept++] = rows[i];
    }
  }
  rows.resize(kept);
}

Result<> add_rule(const Rule& rule, std::size_t position, const SnapshotIndex& index,
                  const std::vector<ProtocolClasses>& classes, PolicyRows& rows) {
  const Result<std::uint16_t> from = index.class_number(rule.from, "a rule");
  if (!from) return fail(from.error().code, name_of(rule, position) + ": " + from.error().context);
  const Result<std::uint16_t> to = index.class_number(rule.to, "a rule");
  if (!to) return fail(to.error().code, name_of(rule, position) + ": " + to.error().context);
  const pt_rule row{static_cast<__u32>(position), rule.strict ? __u32{PT_RULE_STRICT} : 0};
  for (unsigned protocol = 0; protocol < PT_PROTO_COUNT; ++protocol) {
    if (!is_about(rule, protocol)) continue;
    pt_policy_key key{*from, *to, static_cast<__u8>(protocol), 0, 0};
    for (const std::uint32_t port_class : classes[protocol].selections.at(selection(rule))) {
      key.port_class = static_cast<__u8>(port_class);
      rows.emplace_back(key, row);
    }
    if (!rule.fragments) continue;
    key.port_class = 0;
    key.fragments = 1;
    rows.emplace_back(key, row);
  }
  return {};
}

void fill_lines(const PortPartition& partition, unsigned protocol, std::vector<pt_port_line>& lines) {
  partition.each_interval([&](std::uint32_t first, std::uint32_t last, std::uint32_t port_class) {
    for (std::uint32_t port = first; port <= last; ++port) {
      lines[protocol * PT_PORT_LINES + port / PT_PORT_LINE].class_of[port % PT_PORT_LINE] =
          static_cast<__u8>(port_class);
    }
  });
}

}  // namespace

std::string rule_text(const Rule& rule) {
  std::string out = rule.from + " to " + rule.to + ": " + std::string(authority::word_of(rule.protocol));
  std::string separator = " ";
  for (const PortRange& range : rule.ports) {
    out += separator + std::to_string(range.first);
    if (range.last != range.first) out += "-" + std::to_string(range.last);
    separator = ",";
  }
  for (const std::uint8_t type : rule.types) {
    if (rule.codes.empty()) out += separator + std::to_string(type);
    for (const std::uint8_t code : rule.codes) {
      out += separator + std::to_string(type) + "/" + std::to_string(code);
      separator = ",";
    }
    separator = ",";
  }
  if (rule.strict) out += " strict";
  if (rule.fragments) out += " fragments";
  return out;
}

Result<> compile_policy(const Snapshot& snapshot, const SnapshotIndex& index, Tables& tables) {
  if (snapshot.rules.size() > PT_MAX_RULES) {
    return fail(errc::capacity, "the snapshot has " + std::to_string(snapshot.rules.size()) +
                                    " rules, and there is room for " + std::to_string(PT_MAX_RULES));
  }
  for (std::size_t i = 0; i < snapshot.rules.size(); ++i) {
    if (Result<> supported = check_supported(snapshot.rules[i], i); !supported) return supported;
  }
  std::vector<ProtocolClasses> classes;
  tables.port_classes.assign(std::size_t{PT_PROTO_COUNT} * PT_PORT_LINES, pt_port_line{});
  for (unsigned protocol = 0; protocol < PT_PROTO_COUNT; ++protocol) {
    Result<ProtocolClasses> made = classes_of(snapshot, protocol);
    if (!made) return pass_on(std::move(made));
    fill_lines(made->partition, protocol, tables.port_classes);
    classes.push_back(std::move(*made));
  }
  for (std::size_t i = 0; i < snapshot.rules.size(); ++i) {
    const Rule& rule = snapshot.rules[i];
    Result<> added = add_rule(rule, i, index, classes, tables.policy);
    if (!added) return added;
    if (tables.policy.size() < kMergeAtRows) continue;
    merge_rows(tables.policy);
    if (tables.policy.size() > PT_MAX_POLICY_ROWS) break;  // refused below with what there is so far
  }
  merge_rows(tables.policy);
  if (tables.policy.size() <= PT_MAX_POLICY_ROWS) return {};
  return fail(errc::capacity, "the rules need " + std::to_string(tables.policy.size()) +
                                  " policy rows or more, and there is room for " +
                                  std::to_string(PT_MAX_POLICY_ROWS) + "; use fewer classes or port ranges");
}

}  // namespace postern::dataplane
