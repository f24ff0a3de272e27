// SPDX-License-Identifier: Apache-2.0
#include "authority/snapshot_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "abi.h"
#include "authority/prefix_check.h"
#include "authority/root_codec.h"
#include "authority/station.h"
#include "core/utc.h"
#include "wire/json.h"

namespace postern::authority {
namespace {

static_assert(kMaxVni == PT_MAX_VNI && kMaxResourceNumber == PT_MAX_RESOURCES - 1);

Result<> check_capacity(const Snapshot& snapshot) {
  const auto fits = [](std::string_view what, std::size_t need, std::size_t limit) -> Result<> {
    if (need <= limit) return {};
    return fail(errc::capacity, "the snapshot needs " + std::to_string(need) + " " + std::string(what) +
                                    ", the limit is " + std::to_string(limit) + "; split the mesh");
  };
  const auto v4 = static_cast<std::size_t>(std::count_if(snapshot.prefixes.begin(), snapshot.prefixes.end(),
                                                         [](const Prefix& p) { return p.prefix.is_v4(); }));
  for (const Result<>& fit :
       {fits("gateways", snapshot.gateways.size(), kMaxGateways),
        fits("segments", snapshot.segments.size(), PT_MAX_SEGMENTS),
        fits("peers", snapshot.peers.size(), PT_MAX_PEERS), fits("IPv4 prefixes", v4, PT_MAX_PREFIXES),
        fits("IPv6 prefixes", snapshot.prefixes.size() - v4, PT_MAX_PREFIXES),
        fits("resources", snapshot.resources.size(), PT_MAX_RESOURCES),
        fits("services", snapshot.services.size(), PT_MAX_SERVICES),
        fits("classes", snapshot.classes.size(), PT_MAX_CLASSES),
        fits("rules", snapshot.rules.size(), PT_MAX_RULES)}) {
    if (!fit) return fit;
  }
  return {};
}

Result<> check_head(const Snapshot& snapshot, const Place& place) {
  if (!is_mesh_name(snapshot.mesh)) {
    return fail(errc::field, place("mesh", {}) + ": the mesh is named " + in_quotes(snapshot.mesh) +
                                 ", expected " + std::string(kMeshNameForm));
  }
  if (snapshot.serial.value < 1 || snapshot.serial.value > static_cast<std::uint64_t>(wire::kMaxInteger)) {
    return fail(errc::field, place("serial", {}) + ": the serial is " +
                                 std::to_string(snapshot.serial.value) + ", expected 1 to 2^53-1");
  }
  if (snapshot.expires <= snapshot.issued) {
    return fail(errc::field, place("expires", {}) + ": expires at " + utc_text(snapshot.expires) +
                                 ", which is not after it was issued, " + utc_text(snapshot.issued));
  }
  if (Result<> root = check_root(snapshot.root); !root) return pass_on(std::move(root), place("root", {}));
  return {};
}

Result<> check_mac(const MacAddress& mac, const std::string& where) {
  if (mac.is_unicast()) return {};
  return fail(errc::field, where + ": the MAC " + mac.text() +
                               " is zero or a group address; expected one that a "
                               "single station can have, like 02:00:00:00:00:01");
}

Result<> check_segments(const Snapshot& snapshot, const Place& place) {
  std::map<Vni, std::string_view> taken;
  for (std::size_t i = 0; i < snapshot.segments.size(); ++i) {
    const Segment& segment = snapshot.segments[i];
    const std::string where = place("segments", i);
    if (segment.vni.value < 1 || segment.vni.value > kMaxVni) {
      return fail(errc::field, where + ": the VNI is " + std::to_string(segment.vni.value) +
                                   ", expected 1 to " + std::to_string(kMaxVni));
    }
    const auto [other, added] = taken.emplace(segment.vni, segment.id);
    if (!added) {
      return fail(errc::field, where + ": the VNI " + std::to_string(segment.vni.value) +
                                   " is taken already, by segment " + in_quotes(other->second));
    }
    if (segment.gateway && !can_be_station(*segment.gateway)) {
      return fail(errc::field,
                  where + ": the gateway address " + segment.gateway->text() + " can be no station's");
    }
    if (segment.mac) {
      if (Result<> mac = check_mac(*segment.mac, where); !mac) return mac;
    }
  }
  return {};
}

Result<> check_keys(const Snapshot& snapshot, const Place& place) {
  std::set<wire::PublicKey> keys;
  const auto add = [&keys](const wire::PublicKey& key, const std::string& where) -> Result<> {
    if (keys.insert(key).second) return {};
    return fail(errc::field,
                where + ": its key " + key.text() +
                    " is another gateway's or tombstone's already; every gateway has a key of its own");
  };
  for (std::size_t i = 0; i < snapshot.gateways.size(); ++i) {
    if (Result<> added = add(snapshot.gateways[i].key, place("gateways", i)); !added) return added;
  }
  for (std::size_t i = 0; i < snapshot.tombstones.size(); ++i) {
    if (Result<> added = add(snapshot.tombstones[i].key, place("tombstones", i)); !added) return added;
  }
  return {};
}

Result<> check_gateways(const Snapshot& snapshot, const Place& place) {
  std::map<MacAddress, std::string_view> macs;
  for (std::size_t i = 0; i < snapshot.gateways.size(); ++i) {
    const Gateway& gateway = snapshot.gateways[i];
    const std::string where = place("gateways", i);
    if (Result<> mac = check_mac(gateway.mac, where); !mac) return mac;
    const auto [other, added] = macs.emplace(gateway.mac, gateway.id);
    if (!added) {
      return fail(errc::field, where + ": the MAC " + gateway.mac.text() + " is taken already, by gateway " +
                                   in_quotes(other->second) + "; each gateway has its own");
    }
    for (const Endpoint& link : gateway.links) {
      if (link.port != 0 && can_be_station(link.address)) continue;
      return fail(errc::field, where + ": nobody can listen at the link address " + link.text());
    }
  }
  return {};
}

Result<> check_peer(const Peer& peer, std::size_t at, const SnapshotNames& names, const Place& place) {
  // Spelled only when it is needed: a mesh has many peers.
  const auto where = [&] { return place("peers", at); };
  for (auto id = peer.segments.begin(); id != peer.segments.end(); ++id) {
    if (names.segment(*id) == nullptr) {
      return fail(errc::reference,
                  where() + ": names the segment " + in_quotes(*id) + ", which does not exist");
    }
    if (std::find(peer.segments.begin(), id, *id) != id)
      return fail(errc::field, where() + ": names the segment " + in_quotes(*id) + " twice");
  }
  if (peer.mac && !peer.mac->is_unicast()) return check_mac(*peer.mac, where());
  if (peer.via && !names.has_gateway(*peer.via)) {
    return fail(errc::reference, where() + ": goes via " + in_quotes(*peer.via) + ", which is no gateway");
  }
  if (peer.not_before && peer.expires && *peer.expires <= *peer.not_before) {
    return fail(errc::field, where() + ": expires at " + utc_text(*peer.expires) +
                                 ", not after not_before, " + utc_text(*peer.not_before));
  }
  if (peer.rate_bytes_per_s == 0U || peer.rate_packets_per_s == 0U) {
    return fail(errc::field, where() + ": the rate is 0; revoke the peer to stop it, or leave the rate out");
  }
  return {};
}

Result<> check_peers(const Snapshot& snapshot, const Place& place, const SnapshotNames& names) {
  for (std::size_t i = 0; i < snapshot.peers.size(); ++i) {
    if (Result<> r = check_peer(snapshot.peers[i], i, names, place); !r) return r;
  }
  return {};
}

Result<> check_resource(const Resource& resource, const std::string& where, const SnapshotNames& names) {
  std::set<std::string_view> seen;
  const auto once = [&](const std::string& id) -> Result<> {
    if (seen.insert(id).second) return {};
    return fail(errc::field, where + ": names " + in_quotes(id) + " twice among candidates and former ones");
  };
  if (resource.candidates.empty()) {
    return fail(errc::field,
                where + ": has no candidates, so that nobody could ever hold it; name a gateway");
  }
  for (const std::string& id : resource.candidates) {
    if (!names.has_gateway(id)) {
      return fail(errc::reference,
                  where + ": names the candidate " + in_quotes(id) + ", which is no gateway");
    }
    if (Result<> r = once(id); !r) return r;
  }
  for (const std::string& id : resource.former) {
    if (!names.has_gateway(id) && names.node(id) != NodeKind::tombstone) {
      return fail(errc::reference, where + ": names the former candidate " + in_quotes(id) +
                                       ", which is neither gateway nor tombstone");
    }
    if (Result<> r = once(id); !r) return r;
  }
  if (resource.ttl_ms < kMinTtlMs || resource.ttl_ms > kMaxTtlMs) {
    return fail(errc::field, where + ": ttl_ms is " + std::to_string(resource.ttl_ms) + ", expected " +
                                 std::to_string(kMinTtlMs) + " to " + std::to_string(kMaxTtlMs));
  }
  return {};
}

Result<> check_resources(const Snapshot& snapshot, const Place& place, const SnapshotNames& names) {
  std::map<ResourceNumber, std::string_view> taken;
  for (std::size_t i = 0; i < snapshot.resources.size(); ++i) {
    const Resource& resource = snapshot.resources[i];
    const std::string where = place("resources", i);
    if (resource.number.value > kMaxResourceNumber) {
      return fail(errc::field, where + ": the number is " + std::to_string(resource.number.value) +
                                   ", expected 0 to " + std::to_string(kMaxResourceNumber));
    }
    const auto [other, added] = taken.emplace(resource.number, resource.id);
    if (!added) {
      return fail(errc::field, where + ": the number " + std::to_string(resource.number.value) +
                                   " is taken already, by resource " + in_quotes(other->second));
    }
    if (Result<> r = check_resource(resource, where, names); !r) return r;
  }
  return {};
}

Result<> check_rules(const Snapshot& snapshot, const Place& place, const SnapshotNames& names) {
  for (std::size_t i = 0; i < snapshot.rules.size(); ++i) {
    const Rule& rule = snapshot.rules[i];
    for (const std::string* id : {&rule.from, &rule.to}) {
      if (names.has_class(*id)) continue;
      return fail(errc::reference,
                  place("rules", i) + ": names the class " + in_quotes(*id) + ", which no prefix has");
    }
    const bool has_ports = rule.protocol == Protocol::tcp || rule.protocol == Protocol::udp;
    const bool has_types = rule.protocol == Protocol::icmp || rule.protocol == Protocol::icmpv6;
    const std::string protocol(word_of(rule.protocol));
    if (!has_ports && !rule.ports.empty()) {
      return fail(errc::field, place("rules", i) + ": " + protocol + " has no ports" +
                                   (has_types ? "; name types" : "; leave them out"));
    }
    if (!has_types && !rule.types.empty()) {
      return fail(errc::field, place("rules", i) + ": " + protocol + " has no types" +
                                   (has_ports ? "; name ports" : "; leave them out"));
    }
    if (rule.types.empty() && !rule.codes.empty()) {
      return fail(errc::field, place("rules", i) + ": codes are those of types; name the types too");
    }
    for (const PortRange& range : rule.ports) {
      if (range.first <= range.last) continue;
      return fail(errc::field, place("rules", i) + ": the port range " + std::to_string(range.first) + "-" +
                                   std::to_string(range.last) + " runs backwards");
    }
  }
  return {};
}

Result<> check_service(const Service& service, const std::string& where) {
  if (service.protocol != Protocol::tcp && service.protocol != Protocol::udp) {
    return fail(errc::field, where + ": the protocol is " + std::string(word_of(service.protocol)) +
                                 ", expected tcp or udp");
  }
  if (service.port == 0) return fail(errc::field, where + ": the port is 0, expected 1 to 65535");
  if (service.backends.size() > PT_MAX_BACKENDS) {
    return fail(errc::capacity, where + ": has " + std::to_string(service.backends.size()) +
                                    " backends, the limit is " + std::to_string(PT_MAX_BACKENDS));
  }
  std::set<IpAddress> seen;
  for (const Backend& backend : service.backends) {
    if (!seen.insert(backend.address).second) {
      return fail(errc::field, where + ": names the backend " + backend.address.text() + " twice");
    }
    if (backend.weight >= 1 && backend.weight <= kMaxWeight) continue;
    return fail(errc::field, where + ": the weight of backend " + backend.address.text() + " is " +
                                 std::to_string(backend.weight) + ", expected 1 to " +
                                 std::to_string(kMaxWeight) + "; set drain to empty it");
  }
  return {};
}

Result<> check_services(const Snapshot& snapshot, const Place& place) {
  for (std::size_t i = 0; i < snapshot.services.size(); ++i) {
    if (Result<> r = check_service(snapshot.services[i], place("services", i)); !r) return r;
  }
  return {};
}

// A floor may outlive its resource: a resource that comes back must not come back below it.
Result<> check_floors(const Snapshot& snapshot, const Place& place) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < snapshot.epoch_floors.size(); ++i) {
    const EpochFloor& floor = snapshot.epoch_floors[i];
    if (is_id(floor.resource) && seen.insert(floor.resource).second) continue;
    return fail(errc::field, place("epoch_floors", i) + ": the resource " + in_quotes(floor.resource) +
                                 " is named twice, or is not of the form " + std::string(kIdForm));
  }
  return {};
}

}  // namespace

Result<> check_snapshot(const Snapshot& snapshot, const Place& place) {
  if (Result<> r = check_head(snapshot, place); !r) return r;
  if (Result<> r = check_capacity(snapshot); !r) return r;
  const Result<SnapshotNames> names = SnapshotNames::of(snapshot, place);
  if (!names) return tl::unexpected<Error>(names.error());
  if (Result<> r = check_segments(snapshot, place); !r) return r;
  if (Result<> r = check_keys(snapshot, place); !r) return r;
  if (Result<> r = check_gateways(snapshot, place); !r) return r;
  if (Result<> r = check_peers(snapshot, place, *names); !r) return r;
  const Result<std::vector<Station>> stations = stations_of(snapshot, place);
  if (!stations) return tl::unexpected<Error>(stations.error());
  if (Result<> r = check_resources(snapshot, place, *names); !r) return r;
  if (Result<> r = check_services(snapshot, place); !r) return r;
  if (Result<> r = check_rules(snapshot, place, *names); !r) return r;
  if (Result<> r = check_floors(snapshot, place); !r) return r;
  return check_prefixes(snapshot, *names, *stations, place);
}

}  // namespace postern::authority
