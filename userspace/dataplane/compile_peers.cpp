// SPDX-License-Identifier: Apache-2.0
// Who may send from where, and where to send. Both other gateways and stock peers become rows, revoked ones
// too: a packet of theirs is then dropped by its own reason instead of as a stranger's.
//
// A peer's segments are signed. A gateway's follow from what it is signed for: the segments in which it has
// an address, owns a prefix, or may come to hold a resource's prefix.
#include <unordered_map>

#include "dataplane/compile_parts.h"

namespace postern::dataplane {
namespace {

using authority::Gateway;
using authority::Peer;
using authority::Snapshot;

struct Node {
  std::string_view what;
  const std::string& id;
  const std::vector<IpAddress>& addresses;
  SegmentSet segments;
  MacAddress mac;
  pt_peer_state state;
  pt_peer_kind kind;
  pt_tunnel_kind tunnel;
  bool metered;
};

using GatewaySegments = std::unordered_map<std::string_view, SegmentSet>;

Result<SegmentSet> segments_of(const Peer& peer, const SnapshotIndex& index) {
  SegmentSet out;
  for (const std::string& id : peer.segments) {
    const auto segment = index.segment(id, "peer " + peer.id);
    if (!segment) return fail(segment.error().code, segment.error().context);
    out.set(segment->index);
  }
  return out;
}

Result<GatewaySegments> gateway_segments(const Snapshot& snapshot, const SnapshotIndex& index) {
  GatewaySegments out;
  for (const Gateway& gateway : snapshot.gateways) {
    SegmentSet& set = out[gateway.id];
    for (const authority::SegmentAddress& own : gateway.addresses) {
      const auto segment = index.segment(own.segment, "gateway " + gateway.id);
      if (!segment) return fail(segment.error().code, segment.error().context);
      set.set(segment->index);
    }
  }
  for (const authority::Prefix& prefix : snapshot.prefixes) {
    const bool of_resource = prefix.owner.kind == authority::OwnerKind::resource;
    if (!of_resource && prefix.owner.kind != authority::OwnerKind::gateway) continue;
    const auto segment = index.segment(prefix.segment, "a prefix");
    if (!segment) return fail(segment.error().code, segment.error().context);
    if (!of_resource) {
      out[prefix.owner.id].set(segment->index);
      continue;
    }
    const auto resource = index.resource(prefix.owner.id, "a prefix");
    if (!resource) return fail(resource.error().code, resource.error().context);
    for (const std::string& candidate : (*resource)->candidates)
      out[candidate].set(segment->index);
  }
  for (const Peer& peer : snapshot.peers) {
    if (!peer.via) continue;
    Result<SegmentSet> segments = segments_of(peer, index);
    if (!segments) return pass_on(std::move(segments));
    out[*peer.via] |= *segments;
  }
  return out;
}

pt_peer_state state_of(const Peer& peer, UtcSeconds now, std::optional<UtcSeconds>& next_change) {
  if (peer.state == authority::State::revoked) return PT_PEER_REVOKED;
  for (const auto& instant : {peer.not_before, peer.expires}) {
    if (instant && *instant > now && (!next_change || *instant < *next_change)) next_change = instant;
  }
  const bool early = peer.not_before && now < *peer.not_before;
  const bool late = peer.expires && now >= *peer.expires;
  return early || late ? PT_PEER_EXPIRED : PT_PEER_ACTIVE;
}

void copy_segments(const SegmentSet& set, __u64 (&words)[PT_SEGMENT_WORDS]) {
  for (std::size_t bit = 0; bit < set.size(); ++bit) {
    if (set[bit]) words[bit / 64] |= __u64{1} << (bit % 64);
  }
}

// One row for each address of the same family as one of ours.
Result<> add_ways(PeerId id, const std::string& name, const std::vector<IpAddress>& remotes,
                  const SnapshotIndex& index, pt_endpoint endpoint, Tables& tables) {
  const std::vector<IpAddress>& own = index.own().underlay;
  std::vector<std::pair<IpAddress, IpAddress>> ways;
  for (const IpAddress& remote : remotes) {
    const auto local =
        std::find_if(own.begin(), own.end(), [&](const auto& a) { return a.is_v4() == remote.is_v4(); });
    if (local != own.end()) ways.emplace_back(remote, *local);
  }
  if (ways.empty()) {
    return fail(errc::unsupported, name + " has the underlay address " + remotes.front().text() +
                                       ", and this gateway has none of that family to send from");
  }
  endpoint.ways = static_cast<__u8>(ways.size());
  for (std::size_t i = 0; i < ways.size(); ++i) {
    endpoint.remote = to_abi(ways[i].first);
    endpoint.local = to_abi(ways[i].second);
    tables.endpoints.emplace_back(PT_ENDPOINT_KEY(id.value, i), endpoint);
  }
  return {};
}

Result<> add(const Node& node, const SnapshotIndex& index, Tables& tables) {
  const std::string name = std::string(node.what) + " " + node.id;
  const Result<PeerId> id = index.peer(node.id, name);
  if (!id) return fail(id.error().code, id.error().context);
  if (node.addresses.empty()) return fail(errc::unsupported, name + " has no underlay address");
  for (const IpAddress& address : node.addresses) {
    const auto& own = index.own().underlay;
    if (std::find(own.begin(), own.end(), address) != own.end()) {
      return fail(errc::ambiguous, name + " has this gateway's own underlay address " + address.text());
    }
    pt_peer row{};
    copy_segments(node.segments, row.segments);
    row.id = id->value;
    row.state = static_cast<__u8>(node.state);
    row.kind = static_cast<__u8>(node.kind);
    row.flags = node.metered ? PT_PEER_METERED : 0;
    tables.peers.emplace_back(to_abi(address), row);
  }
  pt_endpoint endpoint{};
  copy_segments(node.segments, endpoint.segments);
  std::copy(node.mac.bytes.begin(), node.mac.bytes.end(), endpoint.mac);
  endpoint.state = static_cast<__u8>(node.state);
  endpoint.kind = static_cast<__u8>(node.kind);
  endpoint.tunnel = static_cast<__u8>(node.tunnel);
  endpoint.flags = node.metered ? PT_PEER_METERED : 0;
  return add_ways(*id, name, node.addresses, index, endpoint, tables);
}

// A peer behind a gateway is reached as that gateway is, and admitted as it was signed.
Result<> reach_by(const Gateway& relay, const Peer& peer, const SnapshotIndex& index, Tables& tables) {
  const Result<PeerId> id = index.peer(peer.id, "peer " + peer.id);
  if (!id) return fail(id.error().code, id.error().context);
  const Result<PeerId> via = index.peer(relay.id, "`via` of peer " + peer.id);
  if (!via) return fail(via.error().code, via.error().context);
  pt_endpoint endpoint{};
  const auto is_peers = [&](const auto& row) { return row.first == PT_ENDPOINT_KEY(id->value, 0); };
  endpoint = std::find_if(tables.endpoints.begin(), tables.endpoints.end(), is_peers)->second;
  std::erase_if(tables.endpoints, [&](const auto& row) { return (row.first & 0xffffff) == id->value; });
  endpoint.via = via->value;
  endpoint.kind = PT_PEER_GATEWAY;
  endpoint.tunnel = PT_TUNNEL_GENEVE;
  std::copy(relay.mac.bytes.begin(), relay.mac.bytes.end(), endpoint.mac);
  if (relay.state == authority::State::revoked) endpoint.state = PT_PEER_REVOKED;
  return add_ways(*id, "gateway " + relay.id, relay.underlay, index, endpoint, tables);
}

Result<> sort_and_check(Tables& tables) {
  if (const auto same = sort_rows(tables.peers); same != tables.peers.end()) {
    IpAddress address;
    std::copy(std::begin(same->first.bytes), std::end(same->first.bytes), address.bytes.begin());
    return fail(errc::ambiguous, "two peers or gateways have the underlay address " + address.text());
  }
  if (const auto same = sort_rows(tables.endpoints); same != tables.endpoints.end()) {
    return fail(errc::ambiguous, "two peers have the id " + std::to_string(same->first & 0xffffff));
  }
  return {};
}

}  // namespace

Result<> compile_peers(const Snapshot& snapshot, const SnapshotIndex& index, UtcSeconds now, Tables& tables,
                       std::optional<UtcSeconds>& next_change) {
  Result<GatewaySegments> of_gateways = gateway_segments(snapshot, index);
  if (!of_gateways) return pass_on(std::move(of_gateways));
  for (const Gateway& gateway : snapshot.gateways) {
    if (gateway.id == index.own().id) continue;
    const pt_peer_state state = gateway.state == authority::State::revoked ? PT_PEER_REVOKED : PT_PEER_ACTIVE;
    const Node node{"gateway",   gateway.id, gateway.underlay, (*of_gateways)[gateway.id],
                    gateway.mac, state,      PT_PEER_GATEWAY,  PT_TUNNEL_GENEVE,
                    false};
    if (Result<> added = add(node, index, tables); !added) return added;
  }
  for (const Peer& peer : snapshot.peers) {
    const Result<SegmentSet> segments = segments_of(peer, index);
    if (!segments) return fail(segments.error().code, segments.error().context);
    const Node node{"peer",
                    peer.id,
                    peer.addresses,
                    *segments,
                    peer.mac.value_or(MacAddress{}),
                    state_of(peer, now, next_change),
                    PT_PEER_STOCK,
                    peer.tunnel == authority::Tunnel::geneve ? PT_TUNNEL_GENEVE : PT_TUNNEL_VXLAN,
                    peer.rate_bytes_per_s || peer.rate_packets_per_s};
    if (Result<> added = add(node, index, tables); !added) return added;
    if (!peer.via || *peer.via == index.own().id) continue;
    const auto relay = std::find_if(snapshot.gateways.begin(), snapshot.gateways.end(),
                                    [&](const Gateway& gateway) { return gateway.id == *peer.via; });
    if (relay == snapshot.gateways.end()) {
      return fail(errc::unknown_name, "peer " + peer.id + " goes via " + *peer.via + ", which is no gateway");
    }
    if (Result<> relayed = reach_by(*relay, peer, index, tables); !relayed) return relayed;
  }
  return sort_and_check(tables);
}

}  // namespace postern::dataplane
