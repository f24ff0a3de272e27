// SPDX-License-Identifier: Apache-2.0
#include "dataplane/compile.h"

#include <arpa/inet.h>

#include <set>

#include "dataplane/compile_parts.h"
#include "dataplane/snapshot_index.h"

namespace postern::dataplane {
namespace {

void earliest(std::optional<UtcSeconds>& kept, UtcSeconds candidate) {
  if (!kept || candidate < *kept) kept = candidate;
}

Result<pt_gateway> gateway_row(const authority::Snapshot& snapshot, const authority::Gateway& own,
                               const Site& site, std::optional<UtcSeconds>& next_change) {
  pt_gateway row{};
  row.serial = snapshot.serial.value;
  row.tunnel_port_be = htons(site.tunnel_port);
  row.clamp_mss = site.clamp_mss;
  row.geneve_port_be = htons(site.geneve_port);
  row.fence_class_be = htons(site.fence_class);
  std::copy(own.mac.bytes.begin(), own.mac.bytes.end(), row.mac);
  if (own.underlay.empty()) return fail(errc::unsupported, "gateway " + own.id + " has no underlay address");
  if (own.underlay.size() > PT_MAX_UNDERLAY_ADDRESSES) {
    return fail(errc::capacity, "gateway " + own.id + " has " + std::to_string(own.underlay.size()) +
                                    " underlay addresses, and there is room for " +
                                    std::to_string(PT_MAX_UNDERLAY_ADDRESSES));
  }
  for (std::size_t i = 0; i < own.underlay.size(); ++i) {
    row.underlay[i] = to_abi(own.underlay[i]);
  }
  if (site.guarded.ports.size() > PT_MAX_GUARDED_PORTS) {
    return fail(errc::capacity, std::to_string(site.guarded.ports.size()) +
                                    " guarded ports are configured, and there is room for " +
                                    std::to_string(PT_MAX_GUARDED_PORTS));
  }
  row.guarded_count = static_cast<__u8>(site.guarded.ports.size());
  for (std::size_t i = 0; i < site.guarded.ports.size(); ++i)
    row.guarded_be[i] = htons(site.guarded.ports[i]);
  const bool closes = snapshot.on_expiry == authority::OnExpiry::close;
  const bool expired = site.now >= snapshot.expires;
  if (closes && !expired) earliest(next_change, snapshot.expires);
  row.open = own.state == authority::State::active && !(closes && expired);
  return row;
}

Result<> compile_segments(const authority::Snapshot& snapshot, const SnapshotIndex& index, const Site& site,
                          Tables& tables) {
  std::vector<pt_segment> by_index(snapshot.segments.size());
  for (std::size_t i = 0; i < by_index.size(); ++i)
    by_index[i].index = static_cast<__u32>(i);
  for (const authority::SegmentAddress& own : index.own().addresses) {
    const std::string where = "gateway " + index.own().id;
    const auto segment = index.segment(own.segment, where);
    if (!segment) return fail(segment.error().code, segment.error().context);
    pt_segment& row = by_index[segment->index];
    pt_address& place = own.address.is_v4() ? row.gateway4 : row.gateway6;
    static constexpr pt_address kNone{};
    if (std::memcmp(&place, &kNone, sizeof place) != 0) {
      return fail(errc::ambiguous, where + " has two addresses of one family in segment " + own.segment);
    }
    place = to_abi(own.address);
  }
  for (const SitePort& port : site.ports) {
    if (!port.host) continue;
    const auto segment = index.segment(port.segment, "interface " + port.name);
    if (!segment) return fail(segment.error().code, segment.error().context);
    by_index[segment->index].host_port = port.ifindex.value;
    std::copy(port.mac.bytes.begin(), port.mac.bytes.end(), by_index[segment->index].host_mac);
  }
  for (std::size_t i = 0; i < by_index.size(); ++i) {
    tables.segments.emplace_back(snapshot.segments[i].vni.value, by_index[i]);
  }
  sort_rows(tables.segments);
  return {};
}

// Frames without a tag are refused on an interface that only its VLANs are configured of.
void add_bare_carriers(const Site& site, Tables& tables) {
  std::set<IfIndex> bare;
  for (const SitePort& port : site.ports)
    if (port.carrier) bare.insert(port.carrier->ifindex);
  for (const SitePort& port : site.ports)
    bare.erase(port.ifindex);
  for (const IfIndex carrier : bare) {
    pt_port row{};
    row.role = PT_ROLE_CARRIER;
    row.device = row.carrier = carrier.value;
    tables.ports.emplace_back(pt_port_key{carrier.value, 0, 0}, row);
  }
}

Result<> compile_ports(const Site& site, const SnapshotIndex& index, Tables& tables) {
  for (const SitePort& port : site.ports) {
    if (port.slot >= PT_MAX_PORTS) {
      return fail(errc::capacity, "interface " + port.name + " is number " + std::to_string(port.slot + 1) +
                                      ", and there is room for " + std::to_string(PT_MAX_PORTS));
    }
    pt_port row{};
    row.slot = port.slot;
    row.mtu = static_cast<__u16>(std::min<std::uint32_t>(port.mtu, 0xffff));
    std::copy(port.mac.bytes.begin(), port.mac.bytes.end(), row.mac);
    row.flags = port.host ? PT_PORT_HOST : 0;
    row.role = port.role == config::Role::underlay ? PT_ROLE_UNDERLAY : PT_ROLE_LOCAL;
    if (port.role == config::Role::local) {
      const auto segment = index.segment(port.segment, "interface " + port.name);
      if (!segment) return fail(segment.error().code, segment.error().context);
      row.vni = segment->vni.value;
    }
    row.device = port.ifindex.value;
    row.carrier = port.wire().value;
    row.vlan = port.carrier ? port.carrier->vlan : 0;
    tables.ports.emplace_back(pt_port_key{port.ifindex.value, 0, 0}, row);
    if (port.carrier) tables.ports.emplace_back(pt_port_key{row.carrier, row.vlan, 0}, row);
  }
  add_bare_carriers(site, tables);
  if (const auto same = sort_rows(tables.ports); same != tables.ports.end()) {
    return fail(errc::ambiguous,
                "interface index " + std::to_string(same->first.ifindex) +
                    (same->first.vlan == 0 ? "" : ", VLAN " + std::to_string(same->first.vlan) + ",") +
                    " is configured twice");
  }
  return {};
}

Legend legend_of(const authority::Snapshot& snapshot, const SnapshotIndex& index, const Site& site) {
  Legend legend;
  for (const auto& name : peer_names(snapshot, site.gateway)) {
    if (const Result<PeerId> id = index.peer(name, "")) legend.peers.emplace(*id, name);
  }
  legend.classes.emplace_back();
  legend.classes.insert(legend.classes.end(), snapshot.classes.begin(), snapshot.classes.end());
  for (const auto& segment : snapshot.segments)
    legend.segments.emplace(segment.vni.value, segment.id);
  for (const auto& resource : snapshot.resources)
    legend.resources.emplace(resource.number.value, resource.id);
  for (const auto& service : snapshot.services)
    legend.services.push_back(service.id);
  for (const auto& rule : snapshot.rules)
    legend.rules.push_back(rule_text(rule));
  return legend;
}

// The floor of a resource that was removed stays in the document for good, but names no number any more.
std::map<ResourceNumber, Epoch> floors_of(const authority::Snapshot& snapshot, const SnapshotIndex& index) {
  std::map<ResourceNumber, Epoch> out;
  for (const authority::EpochFloor& floor : snapshot.epoch_floors) {
    const auto resource = index.resource(floor.resource, "an epoch floor");
    if (!resource) continue;
    Epoch& kept = out[(*resource)->number];
    kept = std::max(kept, floor.epoch);
  }
  return out;
}

}  // namespace

std::vector<std::string> peer_names(const authority::Snapshot& snapshot, const std::string& own_gateway) {
  std::vector<std::string> out;
  for (const authority::Gateway& gateway : snapshot.gateways) {
    if (gateway.id != own_gateway) out.push_back(gateway.id);
  }
  for (const authority::Peer& peer : snapshot.peers)
    out.push_back(peer.id);
  return out;
}

Result<Compiled> compile(const authority::Snapshot& snapshot, const Site& site) {
  const Result<SnapshotIndex> index = SnapshotIndex::make(snapshot, site);
  if (!index) return fail(index.error().code, index.error().context);
  Compiled out;
  const Result<pt_gateway> gateway = gateway_row(snapshot, index->own(), site, out.changes_at);
  if (!gateway) return fail(gateway.error().code, gateway.error().context);
  out.tables.gateway = *gateway;
  Result<> done = compile_ports(site, *index, out.tables);
  if (done) done = compile_segments(snapshot, *index, site, out.tables);
  if (done) done = compile_peers(snapshot, *index, site.now, out.tables, out.changes_at);
  if (done) done = compile_rates(snapshot, *index, site, out.tables);
  if (done) done = compile_owners(snapshot, *index, out.tables);
  if (done) done = compile_services(snapshot, *index, out.tables);
  if (done) done = compile_policy(snapshot, *index, out.tables);
  out.claimants = claimants_in(snapshot, site.gateway, site.peer_ids);
  out.tables.resources = holder_rows(out.claimants, site.holders);
  if (done) done = check_capacity(out.tables);
  if (!done) return pass_on(std::move(done));
  out.floors = floors_of(snapshot, *index);
  out.host_routes = compile_host_routes(snapshot, index->own());
  out.legend = legend_of(snapshot, *index, site);
  return out;
}

}  // namespace postern::dataplane
