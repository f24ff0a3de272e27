// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_summary.h"

#include <algorithm>
#include <map>

#include "cli/table.h"
#include "cli/wording.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

using authority::Gateway;
using authority::Owner;
using authority::OwnerKind;
using authority::Peer;
using authority::Rule;
using authority::Snapshot;

constexpr std::size_t kShownPrefixes = 4;

template <class Range, class Spell>
std::string joined(const Range& range, Spell spell) {
  std::string out;
  for (const auto& element : range) {
    if (!out.empty()) out += ", ";
    out += spell(element);
  }
  return out.empty() ? "-" : out;
}

std::string address_list(const std::vector<IpAddress>& addresses) {
  return joined(addresses, [](const IpAddress& address) { return address.text(); });
}

// The prefixes of each owner, as "segment prefix", in the snapshot's order.
class Holdings {
 public:
  explicit Holdings(const Snapshot& snapshot) {
    for (const authority::Prefix& prefix : snapshot.prefixes)
      held_[{prefix.owner.kind, prefix.owner.id}].push_back(&prefix);
  }

  std::string of(OwnerKind kind, const std::string& id) const {
    const auto found = held_.find({kind, id});
    if (found == held_.end()) return "-";
    const std::vector<const authority::Prefix*>& prefixes = found->second;
    const std::size_t shown = std::min(prefixes.size(), kShownPrefixes);
    std::string out;
    for (std::size_t i = 0; i < shown; ++i) {
      out += (i == 0 ? "" : ", ") + prefixes[i]->prefix.text() + " (" + prefixes[i]->segment + ", " +
             prefixes[i]->class_id + ")";
    }
    if (shown < prefixes.size()) out += " and " + std::to_string(prefixes.size() - shown) + " more";
    return out;
  }

 private:
  std::map<std::pair<OwnerKind, std::string>, std::vector<const authority::Prefix*>> held_;
};

std::string peer_state(const Peer& peer, UtcSeconds now) {
  if (peer.state == authority::State::revoked) return "REVOKED";
  if (peer.expires && *peer.expires <= now) return "expired " + expiry_words(*peer.expires, now);
  if (peer.not_before && *peer.not_before > now) return "active from " + utc_text(*peer.not_before);
  if (peer.expires) return "active until " + utc_text(*peer.expires);
  return "active";
}

std::string gateway_table(const Snapshot& snapshot, const Holdings& holdings) {
  Table table({{"GATEWAY"}, {"STATE"}, {"UNDERLAY"}, {"OWN ADDRESSES"}, {"SITE PREFIXES (SEGMENT, CLASS)"}});
  for (const Gateway& gateway : snapshot.gateways) {
    table.add({gateway.id, gateway.state == authority::State::revoked ? "REVOKED" : "active",
               address_list(gateway.underlay),
               joined(gateway.addresses,
                      [](const authority::SegmentAddress& own) {
                        return own.address.text() + " (" + own.segment + ")";
                      }),
               holdings.of(OwnerKind::gateway, gateway.id)});
  }
  return table.empty() ? std::string() : "\n" + table.text();
}

std::string peer_table(const Snapshot& snapshot, const Holdings& holdings, UtcSeconds now) {
  Table table({{"PEER"}, {"STATE"}, {"UNDERLAY"}, {"SEGMENTS"}, {"PREFIXES (SEGMENT, CLASS)"}});
  for (const Peer& peer : snapshot.peers) {
    table.add({peer.id, peer_state(peer, now), address_list(peer.addresses),
               joined(peer.segments, [](const std::string& id) { return id; }),
               holdings.of(OwnerKind::peer, peer.id)});
  }
  return table.empty() ? std::string() : "\n" + table.text();
}

std::string segment_table(const Snapshot& snapshot) {
  Table table({{"SEGMENT"}, {"VNI", Table::Side::right}});
  for (const authority::Segment& segment : snapshot.segments)
    table.add({segment.id, std::to_string(segment.vni.value)});
  return table.empty() ? std::string() : "\n" + table.text();
}

std::string resource_table(const Snapshot& snapshot, const Holdings& holdings) {
  Table table({{"RESOURCE"},
               {"NUMBER", Table::Side::right},
               {"CANDIDATES"},
               {"LEASE"},
               {"PREFIXES (SEGMENT, CLASS)"}});
  for (const authority::Resource& resource : snapshot.resources) {
    table.add({resource.id, std::to_string(resource.number.value),
               joined(resource.candidates, [](const std::string& id) { return id; }),
               std::to_string(resource.ttl_ms) + " ms", holdings.of(OwnerKind::resource, resource.id)});
  }
  return table.empty() ? std::string() : "\n" + table.text();
}

std::string protocol_words(const Rule& rule) {
  const bool ports = rule.protocol == authority::Protocol::tcp || rule.protocol == authority::Protocol::udp;
  std::string out;
  switch (rule.protocol) {
    case authority::Protocol::tcp:
      out = "tcp";
      break;
    case authority::Protocol::udp:
      out = "udp";
      break;
    case authority::Protocol::icmp:
      out = "icmp";
      break;
    case authority::Protocol::icmpv6:
      out = "icmpv6";
      break;
    case authority::Protocol::any:
      return "any protocol";
  }
  if (ports) {
    if (rule.ports.empty()) return out + ", any port";
    return out + " to port " + joined(rule.ports, [](const authority::PortRange& range) {
             return std::to_string(range.first) +
                    (range.last == range.first ? "" : "-" + std::to_string(range.last));
           });
  }
  if (rule.types.empty()) return out + ", any type";
  return out + " type " + joined(rule.types, [](std::uint8_t type) { return std::to_string(type); });
}

std::string rule_sentences(const Snapshot& snapshot) {
  std::string out = "\nRules (all else is denied)\n";
  for (const Rule& rule : snapshot.rules) {
    out += "  " + rule.from + " may reach " + rule.to + " by " + protocol_words(rule);
    if (rule.strict) out += "; replies need a rule of their own";
    if (rule.fragments) out += "; fragments allowed";
    out += "\n";
  }
  return snapshot.rules.empty() ? out + "  none: nobody may reach anybody\n" : out;
}

std::string counts(const Snapshot& snapshot) {
  return count_words(snapshot.gateways.size(), "gateway") + ", " +
         count_words(snapshot.peers.size(), "peer") + ", " +
         count_words(snapshot.segments.size(), "segment") + ", " +
         count_words(snapshot.prefixes.size(), "prefix") + ", " +
         count_words(snapshot.resources.size(), "resource") + ", " +
         count_words(snapshot.classes.size(), "class") + ", " + count_words(snapshot.rules.size(), "rule");
}

}  // namespace

std::string snapshot_headline(const Snapshot& snapshot, const Hash256& hash, UtcSeconds now) {
  const bool first = snapshot.prev == Hash256{};
  const bool expired = snapshot.expires <= now;
  std::string out = "serial   " + std::to_string(snapshot.serial.value) + " of mesh " + snapshot.mesh + "\n";
  out += "hash     " + to_hex(hash) + "\n";
  out += "follows  " + (first ? std::string("nothing named") : to_hex(snapshot.prev)) + "\n";
  out += "issued   " + utc_text(snapshot.issued) + "\n";
  out +=
      std::string(expired ? "EXPIRED  " : "expires  ") + utc_text(snapshot.expires) + ", " +
      expiry_words(snapshot.expires, now) + "; then gateways " +
      (snapshot.on_expiry == authority::OnExpiry::close ? "drop all traffic" : "keep it and raise an alarm") +
      "\n";
  out += "root     " + std::to_string(snapshot.root.threshold) + " of " +
         count_words(snapshot.root.keys.size(), "key") + "\n";
  for (const wire::PublicKey& key : snapshot.root.keys)
    out += "         " + key.id() + "\n";
  return out + "content  " + counts(snapshot) + "\n";
}

std::string snapshot_details(const Snapshot& snapshot, UtcSeconds now) {
  const Holdings holdings(snapshot);
  return gateway_table(snapshot, holdings) + peer_table(snapshot, holdings, now) + segment_table(snapshot) +
         resource_table(snapshot, holdings) + rule_sentences(snapshot);
}

}  // namespace postern::cli
