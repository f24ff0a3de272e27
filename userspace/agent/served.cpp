// SPDX-License-Identifier: Apache-2.0
#include "agent/served.h"

#include <array>
#include <set>

namespace postern::agent {
namespace {

std::vector<std::pair<std::string_view, std::uint64_t>> count_peers(const dataplane::Tables& tables) {
  std::array<std::set<std::uint32_t>, 3> ids;
  for (const auto& [address, peer] : tables.peers)
    if (peer.state < ids.size()) ids[peer.state].insert(peer.id);
  return {{"active", ids[PT_PEER_ACTIVE].size()},
          {"revoked", ids[PT_PEER_REVOKED].size()},
          {"expired", ids[PT_PEER_EXPIRED].size()}};
}

std::vector<observe::TableObservation> sizes(const dataplane::Tables& tables) {
  return {{"ports", tables.ports.size(), PT_MAX_PORTS},
          {"segments", tables.segments.size(), PT_MAX_SEGMENTS},
          {"peers", tables.peers.size(), PT_MAX_PEERS},
          {"endpoints", tables.endpoints.size(), std::uint64_t{PT_MAX_PEERS} * PT_MAX_UNDERLAY_ADDRESSES},
          {"owners4", tables.owners4.size(), PT_MAX_PREFIXES},
          {"owners6", tables.owners6.size(), PT_MAX_PREFIXES},
          {"policy", tables.policy.size(), PT_MAX_POLICY_ROWS},
          {"rates", tables.rates.size(), PT_MAX_PEERS + 1},
          {"resources", tables.resources.size(), PT_MAX_RESOURCES},
          {"services", tables.services.size(), PT_MAX_SERVICES},
          {"backends", tables.backends.size(), std::uint64_t{PT_MAX_SERVICES} * 2 * (PT_MAX_BACKENDS + 1)}};
}

std::vector<IpAddress> active_remotes(const dataplane::Tables& tables) {
  std::vector<IpAddress> remotes;
  for (const auto& [id, endpoint] : tables.endpoints) {
    IpAddress remote;
    std::copy(std::begin(endpoint.remote.bytes), std::end(endpoint.remote.bytes), remote.bytes.begin());
    if (endpoint.state == PT_PEER_ACTIVE && remote != IpAddress{}) remotes.push_back(remote);
  }
  return remotes;
}

std::map<ResourceNumber, std::vector<ResourceAddress>> addresses_of_resources(
    const authority::Snapshot& snapshot) {
  std::map<std::string_view, ResourceNumber> numbers;
  for (const authority::Resource& resource : snapshot.resources)
    numbers.emplace(resource.id, resource.number);
  std::map<std::string_view, const authority::Segment*> segments;
  for (const authority::Segment& segment : snapshot.segments)
    segments.emplace(segment.id, &segment);
  std::map<ResourceNumber, std::vector<ResourceAddress>> out;
  for (const authority::Prefix& prefix : snapshot.prefixes) {
    if (prefix.owner.kind != authority::OwnerKind::resource ||
        prefix.prefix.length != prefix.prefix.max_length())
      continue;
    const auto number = numbers.find(prefix.owner.id);
    const auto segment = segments.find(prefix.segment);
    if (number == numbers.end() || segment == segments.end()) continue;
    ResourceAddress address{prefix.segment, prefix.prefix.address, std::nullopt};
    if (segment->second->gateway == address.address) address.mac = segment->second->mac;
    out[number->second].push_back(std::move(address));
  }
  return out;
}

}  // namespace

void note_holders(Served& served, std::size_t rows) {
  for (observe::TableObservation& table : served.tables)
    if (table.name == "resources") table.entries = rows;
}

Served describe_in_part(const authority::Candidate& candidate, dataplane::Claimants claimants) {
  const authority::Snapshot& snapshot = candidate.snapshot;
  Served served;
  served.serial = snapshot.serial;
  served.hash = candidate.hash;
  served.issued = snapshot.issued;
  served.expires = snapshot.expires;
  served.on_expiry = snapshot.on_expiry;
  served.members = mesh::Members(snapshot);
  for (const authority::Tombstone& tombstone : snapshot.tombstones)
    served.node_names.emplace(tombstone.key, tombstone.id);
  for (const authority::Gateway& gateway : snapshot.gateways)
    served.node_names.insert_or_assign(gateway.key, gateway.id);
  served.claimants = std::move(claimants);
  served.roster = ledger::roster_of(snapshot);
  served.resource_addresses = addresses_of_resources(snapshot);
  return served;
}

Served describe(const authority::Candidate& candidate, dataplane::Compiled& compiled, UtcSeconds judged_at) {
  const authority::Snapshot& snapshot = candidate.snapshot;
  Served served = describe_in_part(candidate, std::move(compiled.claimants));
  served.open = compiled.tables.gateway.open != 0;
  served.peers = snapshot.peers.size();
  served.prefixes = snapshot.prefixes.size();
  served.rules = snapshot.rules.size();
  served.peers_by_state = count_peers(compiled.tables);
  served.tables = sizes(compiled.tables);
  served.remotes = active_remotes(compiled.tables);
  served.legend = std::move(compiled.legend);
  served.judged_at = judged_at;
  served.host_routes = std::move(compiled.host_routes);
  served.changes_at = compiled.changes_at;
  return served;
}

}  // namespace postern::agent
