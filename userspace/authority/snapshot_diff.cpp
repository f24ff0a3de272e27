// SPDX-License-Identifier: Apache-2.0
#include "authority/snapshot_diff.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "authority/snapshot_names.h"
#include "core/name.h"
#include "core/utc.h"

namespace postern::authority {
namespace {

using Changes = std::vector<Change>;

template <class List, class Spell>
std::string joined(const List& list, Spell spell) {
  std::string out;
  for (const auto& element : list)
    out += (out.empty() ? "" : ", ") + spell(element);
  return out.empty() ? "none" : out;
}

std::string addresses(const std::vector<IpAddress>& list) {
  return joined(list, [](const IpAddress& address) { return address.text(); });
}

std::string names(const std::vector<std::string>& list) {
  return joined(list, [](const std::string& name) { return name; });
}

std::string mac_text(const std::optional<MacAddress>& mac) {
  return mac ? mac->text() : "none";
}

std::string instant(const std::optional<UtcSeconds>& when) {
  return when ? utc_text(*when) : "none";
}

// Entries of two lists by their ids: `gone`, `fresh`, and `both`, which gets the old and the new one.
template <class Entry, class Gone, class Fresh, class Both>
void compare(const std::vector<Entry>& before, const std::vector<Entry>& after, Gone gone, Fresh fresh,
             Both both) {
  std::map<std::string_view, const Entry*> old;
  std::set<std::string_view> kept;
  for (const Entry& entry : before)
    old.emplace(entry.id, &entry);
  for (const Entry& entry : after)
    kept.insert(entry.id);
  for (const Entry& entry : before)
    if (kept.count(entry.id) == 0) gone(entry);
  for (const Entry& entry : after) {
    const auto found = old.find(entry.id);
    if (found == old.end()) {
      fresh(entry);
    } else if (!(*found->second == entry)) {
      both(*found->second, entry);
    }
  }
}

void note(Changes& out, std::string_view kind, const std::string& subject, std::string_view what,
          const std::string& before, const std::string& after) {
  if (before != after)
    out.push_back({kind, subject, std::string(what) + " changes from " + before + " to " + after});
}

void diff_authority(const Snapshot& before, const Snapshot& after, Changes& out) {
  note(out, "mesh.changed", "the mesh", "name", before.mesh, after.mesh);
  note(out, "expiry.changed", "the mesh", "what gateways do after expiry",
       std::string(word_of(before.on_expiry)), std::string(word_of(after.on_expiry)));
  const std::set<wire::PublicKey> old(before.root.keys.begin(), before.root.keys.end());
  const std::set<wire::PublicKey> now(after.root.keys.begin(), after.root.keys.end());
  for (const wire::PublicKey& key : old)
    if (now.count(key) == 0) out.push_back({"key.removed", "authority key " + key.id(), "no longer counts"});
  for (const wire::PublicKey& key : now)
    if (old.count(key) == 0) out.push_back({"key.added", "authority key " + key.id(), "counts from now on"});
  note(out, "threshold.changed", "the authority", "the number of signatures needed",
       std::to_string(before.root.threshold), std::to_string(after.root.threshold));
}

void diff_gateways(const Snapshot& before, const Snapshot& after, Changes& out) {
  const auto subject = [](const Gateway& gateway) { return "gateway " + gateway.id; };
  compare(
      before.gateways, after.gateways,
      [&](const Gateway& gateway) {
        out.push_back({"gateway.cut", subject(gateway), "is cut off: it is removed"});
      },
      [&](const Gateway& gateway) {
        out.push_back({"gateway.added", subject(gateway), "is new, at " + addresses(gateway.underlay)});
      },
      [&](const Gateway& old, const Gateway& now) {
        if (old.state != now.state) {
          const bool revoked = now.state == State::revoked;
          out.push_back({revoked ? "gateway.cut" : "gateway.restored", subject(now),
                         revoked ? "is cut off: it is revoked" : "is let in again"});
        }
        const auto own = [](const Gateway& gateway) {
          return joined(gateway.addresses,
                        [](const SegmentAddress& a) { return a.address.text() + " (" + a.segment + ")"; });
        };
        const auto links = [](const Gateway& gateway) {
          return joined(gateway.links, [](const Endpoint& endpoint) { return endpoint.text(); });
        };
        note(out, "gateway.changed", subject(now), "its key", old.key.text(), now.key.text());
        note(out, "gateway.changed", subject(now), "its underlay address", addresses(old.underlay),
             addresses(now.underlay));
        note(out, "gateway.changed", subject(now), "its MAC", old.mac.text(), now.mac.text());
        note(out, "gateway.changed", subject(now), "its own address", own(old), own(now));
        note(out, "gateway.changed", subject(now), "its link address", links(old), links(now));
      });
}

void diff_peers(const Snapshot& before, const Snapshot& after, Changes& out) {
  const auto subject = [](const Peer& peer) { return "peer " + peer.id; };
  compare(
      before.peers, after.peers,
      [&](const Peer& peer) {
        out.push_back({"peer.cut", subject(peer), "is cut off: it is removed"});
      },
      [&](const Peer& peer) {
        out.push_back({"peer.added", subject(peer), "is new, at " + addresses(peer.addresses)});
      },
      [&](const Peer& old, const Peer& now) {
        if (old.state != now.state) {
          const bool revoked = now.state == State::revoked;
          out.push_back({revoked ? "peer.cut" : "peer.restored", subject(now),
                         revoked ? "is cut off: it is revoked" : "is let in again"});
        }
        const auto rate = [](const Peer& peer) {
          return peer.rate_bytes_per_s ? std::to_string(*peer.rate_bytes_per_s) + " bytes a second" : "none";
        };
        note(out, "peer.changed", subject(now), "its underlay address", addresses(old.addresses),
             addresses(now.addresses));
        note(out, "peer.changed", subject(now), "the segments it may use", names(old.segments),
             names(now.segments));
        note(out, "peer.changed", subject(now), "its MAC", mac_text(old.mac), mac_text(now.mac));
        note(out, "peer.changed", subject(now), "the gateway it goes via", old.via.value_or("none"),
             now.via.value_or("none"));
        note(out, "peer.changed", subject(now), "its beginning", instant(old.not_before),
             instant(now.not_before));
        note(out, "peer.changed", subject(now), "its expiry", instant(old.expires), instant(now.expires));
        note(out, "peer.changed", subject(now), "its rate", rate(old), rate(now));
        const auto packets = [](const Peer& peer) {
          return peer.rate_packets_per_s ? std::to_string(*peer.rate_packets_per_s) + " packets a second"
                                         : "none";
        };
        note(out, "peer.changed", subject(now), "its packet rate", packets(old), packets(now));
        note(out, "peer.changed", subject(now), "its tunnel", std::string(word_of(old.tunnel)),
             std::string(word_of(now.tunnel)));
      });
}

void diff_segments(const Snapshot& before, const Snapshot& after, Changes& out) {
  const auto subject = [](const Segment& segment) { return "segment " + segment.id; };
  compare(
      before.segments, after.segments,
      [&](const Segment& segment) {
        out.push_back({"segment.lost", subject(segment), "is removed"});
      },
      [&](const Segment& segment) {
        out.push_back(
            {"segment.added", subject(segment), "is new, VNI " + std::to_string(segment.vni.value)});
      },
      [&](const Segment& old, const Segment& now) {
        const auto gateway = [](const Segment& s) { return s.gateway ? s.gateway->text() : "none"; };
        note(out, "segment.changed", subject(now), "its VNI", std::to_string(old.vni.value),
             std::to_string(now.vni.value));
        note(out, "segment.changed", subject(now), "its MAC", mac_text(old.mac), mac_text(now.mac));
        note(out, "segment.changed", subject(now), "its gateway address", gateway(old), gateway(now));
      });
}

std::string owner_words(const Owner& owner) {
  return std::string(word_of(owner.kind)) + " " + owner.id;
}

void diff_prefixes(const Snapshot& before, const Snapshot& after, Changes& out) {
  using Key = std::pair<std::string_view, IpPrefix>;
  std::map<Key, const Prefix*> old;
  std::map<Key, const Prefix*> now;
  for (const Prefix& prefix : before.prefixes)
    old.emplace(Key{prefix.segment, prefix.prefix}, &prefix);
  for (const Prefix& prefix : after.prefixes)
    now.emplace(Key{prefix.segment, prefix.prefix}, &prefix);
  const auto subject = [](const Key& key) { return key.second.text() + " in " + std::string(key.first); };
  for (const auto& [key, prefix] : old)
    if (now.count(key) == 0)
      out.push_back(
          {"prefix.lost", subject(key), "is lost to " + owner_words(prefix->owner) + ": nobody owns it"});
  for (const auto& [key, prefix] : now) {
    const auto found = old.find(key);
    if (found == old.end()) {
      out.push_back({"prefix.added", subject(key), "is new, owned by " + owner_words(prefix->owner)});
      continue;
    }
    if (found->second->owner != prefix->owner) {
      out.push_back(
          {"prefix.moved", subject(key),
           "moves from " + owner_words(found->second->owner) + " to " + owner_words(prefix->owner)});
    }
    note(out, "prefix.class", subject(key), "its class", found->second->class_id, prefix->class_id);
  }
}

void diff_resources(const Snapshot& before, const Snapshot& after, Changes& out) {
  const auto subject = [](const Resource& resource) { return "resource " + resource.id; };
  compare(
      before.resources, after.resources,
      [&](const Resource& resource) {
        out.push_back({"resource.lost", subject(resource), "is removed"});
      },
      [&](const Resource& resource) {
        out.push_back(
            {"resource.added", subject(resource), "is new, candidates " + names(resource.candidates)});
      },
      [&](const Resource& old, const Resource& now) {
        note(out, "resource.changed", subject(now), "who may hold it", names(old.candidates),
             names(now.candidates));
        note(out, "resource.changed", subject(now), "its number", std::to_string(old.number.value),
             std::to_string(now.number.value));
        note(out, "resource.changed", subject(now), "its lease", std::to_string(old.ttl_ms) + " ms",
             std::to_string(now.ttl_ms) + " ms");
      });
  std::map<std::string_view, Epoch> floors;
  for (const EpochFloor& floor : before.epoch_floors)
    floors.emplace(floor.resource, floor.epoch);
  for (const EpochFloor& floor : after.epoch_floors) {
    note(out, "floor.changed", "resource " + floor.resource, "its epoch floor",
         std::to_string(floors[floor.resource].value), std::to_string(floor.epoch.value));
  }
}

void diff_services(const Snapshot& before, const Snapshot& after, Changes& out) {
  const auto subject = [](const Service& service) { return "service " + service.id; };
  const auto door = [](const Service& service) {
    return std::string(word_of(service.protocol)) + " " + std::to_string(service.port);
  };
  const auto backends = [](const Service& service) {
    return joined(service.backends, [](const Backend& backend) {
      return backend.address.text() + " (weight " + std::to_string(backend.weight) +
             (backend.drain ? ", draining)" : ")");
    });
  };
  compare(
      before.services, after.services,
      [&](const Service& service) {
        out.push_back({"service.lost", subject(service), "is removed"});
      },
      [&](const Service& service) {
        out.push_back({"service.added", subject(service), "is new, backends " + backends(service)});
      },
      [&](const Service& old, const Service& now) {
        note(out, "service.changed", subject(now), "its port", door(old), door(now));
        note(out, "service.changed", subject(now), "who answers for it", backends(old), backends(now));
      });
}

std::string rule_words(const Rule& rule) {
  const auto range = [](const PortRange& r) {
    return std::to_string(r.first) + (r.first == r.last ? "" : "-" + std::to_string(r.last));
  };
  std::string out = rule.from + " to " + rule.to + ", " + std::string(word_of(rule.protocol));
  if (!rule.ports.empty()) out += " ports " + joined(rule.ports, range);
  if (!rule.types.empty())
    out += " types " + joined(rule.types, [](int type) { return std::to_string(type); });
  if (!rule.codes.empty())
    out += " codes " + joined(rule.codes, [](int code) { return std::to_string(code); });
  if (rule.strict) out += ", strict";
  return rule.fragments ? out + ", with fragments" : out;
}

void diff_rules(const Snapshot& before, const Snapshot& after, Changes& out) {
  std::set<std::string> old;
  std::set<std::string> now;
  for (const Rule& rule : before.rules)
    old.insert(rule_words(rule));
  for (const Rule& rule : after.rules)
    now.insert(rule_words(rule));
  for (const std::string& rule : old)
    if (now.count(rule) == 0) out.push_back({"rule.lost", rule, "is no longer allowed by this rule"});
  for (const std::string& rule : now)
    if (old.count(rule) == 0) out.push_back({"rule.added", rule, "is allowed from now on"});
}

}  // namespace

std::vector<Change> diff_snapshots(const Snapshot& before, const Snapshot& after) {
  Changes out;
  diff_authority(before, after, out);
  diff_gateways(before, after, out);
  diff_peers(before, after, out);
  diff_segments(before, after, out);
  diff_prefixes(before, after, out);
  diff_resources(before, after, out);
  diff_services(before, after, out);
  diff_rules(before, after, out);
  return out;
}

}  // namespace postern::authority
