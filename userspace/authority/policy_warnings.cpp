// SPDX-License-Identifier: Apache-2.0
#include "authority/policy_warnings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>

#include "authority/snapshot_names.h"
#include "core/name.h"

namespace postern::authority {
namespace {

// Where a class has addresses in use: {segment, whether IPv4}.
using Places = std::set<std::pair<std::string_view, bool>>;

std::map<std::string_view, Places> places_of_classes(const Snapshot& snapshot) {
  std::unordered_set<std::string_view> revoked;
  for (const Peer& peer : snapshot.peers)
    if (peer.state == State::revoked) revoked.insert(peer.id);
  for (const Gateway& gateway : snapshot.gateways)
    if (gateway.state == State::revoked) revoked.insert(gateway.id);
  std::map<std::string_view, Places> out;
  for (const Prefix& prefix : snapshot.prefixes) {
    Places& places = out[prefix.class_id];
    const bool node = prefix.owner.kind == OwnerKind::peer || prefix.owner.kind == OwnerKind::gateway;
    if (!node || revoked.count(prefix.owner.id) == 0) places.emplace(prefix.segment, prefix.prefix.is_v4());
  }
  return out;
}

// Why no packet matches the rule; empty when one may.
std::string dead_end(const Rule& rule, const std::map<std::string_view, Places>& classes) {
  const auto places = [&](const std::string& id) {
    const auto found = classes.find(id);
    return found == classes.end() ? Places() : found->second;
  };
  const Places from = places(rule.from);
  const Places to = places(rule.to);
  if (from.empty()) return "class " + in_quotes(rule.from) + " has no prefix in use";
  if (to.empty()) return "class " + in_quotes(rule.to) + " has no prefix in use";
  const auto met = [&](const auto& place) {
    const bool family = rule.protocol == Protocol::icmp     ? place.second
                        : rule.protocol == Protocol::icmpv6 ? !place.second
                                                            : true;
    return family && to.count(place) != 0;
  };
  if (std::any_of(from.begin(), from.end(), met)) return {};
  return "the two classes have no segment in common in which both have addresses of its family";
}

template <class Match>
bool covers_all(const std::vector<Match>& wide, const std::vector<Match>& narrow,
                bool (*holds)(const Match&, const Match&)) {
  if (wide.empty()) return true;
  return !narrow.empty() && std::all_of(narrow.begin(), narrow.end(), [&](const Match& part) {
    return std::any_of(wide.begin(), wide.end(), [&](const Match& whole) { return holds(whole, part); });
  });
}

// Whether what `narrow` lets through `wide` does too. Both are of the same classes and protocol.
bool covers(const Rule& wide, const Rule& narrow) {
  if ((wide.strict && !narrow.strict) || (narrow.fragments && !wide.fragments) || wide.codes != narrow.codes)
    return false;
  return covers_all<PortRange>(wide.ports, narrow.ports,
                               [](const PortRange& whole, const PortRange& part) {
                                 return whole.first <= part.first && part.last <= whole.last;
                               }) &&
         covers_all<std::uint8_t>(
             wide.types, narrow.types,
             [](const std::uint8_t& whole, const std::uint8_t& part) { return whole == part; });
}

}  // namespace

std::vector<std::string> policy_warnings(const config::PolicyFile& policy, const Snapshot& snapshot,
                                         std::string_view origin) {
  std::vector<std::string> out;
  const std::map<std::string_view, Places> classes = places_of_classes(snapshot);
  std::map<std::tuple<std::string_view, std::string_view, Protocol>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < snapshot.rules.size(); ++i) {
    const Rule& rule = snapshot.rules[i];
    alike[{rule.from, rule.to, rule.protocol}].push_back(i);
  }
  const auto line = [&policy](std::size_t i) { return std::to_string(policy.rules.at(i).line); };
  for (std::size_t i = 0; i < snapshot.rules.size(); ++i) {
    const Rule& rule = snapshot.rules[i];
    const std::string where = std::string(origin) + ":" + line(i) + ": this rule ";
    if (const std::string reason = dead_end(rule, classes); !reason.empty())
      out.push_back(where + "matches no packet: " + reason);
    for (const std::size_t other : alike[{rule.from, rule.to, rule.protocol}]) {
      if (other == i) continue;
      const bool same = snapshot.rules[other] == rule;
      if (same ? other > i : !covers(snapshot.rules[other], rule)) continue;
      // Of two that cover each other the later one is named.
      if (!same && other > i && covers(rule, snapshot.rules[other])) continue;
      out.push_back(where +
                    (same ? "is written on line " + line(other) + " already; remove one"
                          : "is shadowed by the one on line " + line(other) + ", which allows all of it"));
      break;
    }
  }
  return out;
}

}  // namespace postern::authority
