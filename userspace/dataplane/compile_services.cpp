// SPDX-License-Identifier: Apache-2.0
// Services (SPEC 1.13): for each its table of places, the addresses of its backends, and who may answer for
// it: the peers, gateways or site that its backends' addresses belong to.
#include "authority/prefix_index.h"
#include "dataplane/compile_parts.h"
#include "dataplane/maglev.h"

namespace postern::dataplane {
namespace {

using authority::Backend;
using authority::OwnerKind;
using authority::Prefix;
using authority::Service;
using authority::Snapshot;

// Senders by their peer id, 0 for the own site.
Result<std::vector<std::uint32_t>> senders_of(const Prefix& home, const Snapshot& snapshot,
                                              const SnapshotIndex& index, const std::string& where) {
  const std::string& owner = home.owner.id;
  if (home.owner.kind == OwnerKind::gateway && owner == index.own().id) return std::vector<std::uint32_t>{0};
  if (home.owner.kind != OwnerKind::gateway && home.owner.kind != OwnerKind::peer) {
    return fail(errc::unsupported, where + " lies in " + home.prefix.text() + ", which a " +
                                       (home.owner.kind == OwnerKind::service ? "service" : "resource") +
                                       " owns; a backend's address belongs to a gateway's site or to a peer");
  }
  const Result<PeerId> id = index.peer(owner, where);
  if (!id) return fail(id.error().code, id.error().context);
  std::vector<std::uint32_t> out{id->value};
  for (const authority::Peer& peer : snapshot.peers) {
    if (peer.id != owner || !peer.via || *peer.via == index.own().id) continue;
    const Result<PeerId> via = index.peer(*peer.via, where);
    if (!via) return fail(via.error().code, via.error().context);
    out.push_back(via->value);
  }
  return out;
}

pt_service door_of(const Service& service) {
  std::vector<MaglevBackend> fresh;
  std::vector<MaglevBackend> flows;
  for (const Backend& backend : service.backends) {
    flows.push_back({backend.address.text(), backend.weight});
    fresh.push_back({backend.address.text(), backend.drain ? 0 : backend.weight});
  }
  pt_service row{};
  row.port = service.port;
  row.protocol = service.protocol == authority::Protocol::tcp ? PT_PROTO_TCP : PT_PROTO_UDP;
  const MaglevTable fresh_table = maglev(fresh);
  const MaglevTable flow_table = maglev(flows);
  std::copy(fresh_table.begin(), fresh_table.end(), row.fresh);
  std::copy(flow_table.begin(), flow_table.end(), row.flows);
  row.draining = fresh_table != flow_table;
  return row;
}

Result<> check_form(const Service& service, const std::string& where) {
  if (service.protocol != authority::Protocol::tcp && service.protocol != authority::Protocol::udp) {
    return fail(errc::unsupported, where + " is neither of TCP nor of UDP");
  }
  if (service.backends.size() <= PT_MAX_BACKENDS) return {};
  return fail(errc::capacity, where + " has " + std::to_string(service.backends.size()) +
                                  " backends, and there is room for " + std::to_string(PT_MAX_BACKENDS));
}

// The service's own prefix: one address, in one segment.
Result<const Prefix*> door_address(const Service& service, const Snapshot& snapshot,
                                   const std::string& where) {
  const Prefix* found = nullptr;
  for (const Prefix& prefix : snapshot.prefixes) {
    if (prefix.owner.kind != OwnerKind::service || prefix.owner.id != service.id) continue;
    if (found != nullptr || prefix.prefix.length != prefix.prefix.max_length()) {
      return fail(errc::unsupported, where + " owns " + prefix.prefix.text() +
                                         "; a service owns exactly one prefix, of a single address");
    }
    found = &prefix;
  }
  if (found != nullptr) return found;
  return fail(errc::unknown_name, where + " owns no prefix; give it one, of a single address");
}

Result<> add_backends(const Service& service, const Prefix& door, const Snapshot& snapshot,
                      const SnapshotIndex& index, const authority::PrefixIndex& homes, std::uint32_t number,
                      Tables& tables) {
  const auto segment = index.segment(door.segment, "service " + service.id);
  if (!segment) return fail(segment.error().code, segment.error().context);
  std::vector<std::uint32_t> senders;
  for (std::size_t i = 0; i < service.backends.size(); ++i) {
    const IpAddress& address = service.backends[i].address;
    const std::string where = "backend " + address.text() + " of service " + service.id;
    if (address.is_v4() != door.prefix.is_v4()) {
      return fail(errc::unsupported, where + " is of another family than the service's address, " +
                                         door.prefix.text() + "; addresses are not translated");
    }
    const Prefix* home = homes.longest_match(segment->vni, address);
    if (home == nullptr) {
      return fail(errc::unknown_name, where + " lies in no prefix of segment " + door.segment);
    }
    const auto may_send = senders_of(*home, snapshot, index, where);
    if (!may_send) return fail(may_send.error().code, may_send.error().context);
    senders.insert(senders.end(), may_send->begin(), may_send->end());
    tables.backends.emplace_back(pt_backend_key{number, static_cast<__u32>(i)}, pt_backend{to_abi(address)});
  }
  std::sort(senders.begin(), senders.end());
  senders.erase(std::unique(senders.begin(), senders.end()), senders.end());
  for (const std::uint32_t sender : senders) {
    tables.backends.emplace_back(pt_backend_key{number, PT_BACKEND_SENDER | sender}, pt_backend{});
  }
  return {};
}

}  // namespace

Result<> compile_services(const Snapshot& snapshot, const SnapshotIndex& index, Tables& tables) {
  if (snapshot.services.empty()) return {};
  const auto names = authority::SnapshotNames::of(snapshot, authority::place_in_document);
  if (!names) return fail(names.error().code, names.error().context);
  const auto homes = authority::PrefixIndex::of(snapshot, *names, authority::place_in_document);
  if (!homes) return fail(homes.error().code, homes.error().context);
  for (const Service& service : snapshot.services) {
    const std::string where = "service " + service.id;
    if (Result<> formed = check_form(service, where); !formed) return formed;
    const Result<std::uint32_t> number = index.service_number(service.id, where);
    if (!number) return fail(number.error().code, number.error().context);
    const Result<const Prefix*> door = door_address(service, snapshot, where);
    if (!door) return fail(door.error().code, door.error().context);
    Result<> added = add_backends(service, **door, snapshot, index, *homes, *number, tables);
    if (!added) return added;
    tables.services.emplace_back(*number, door_of(service));
  }
  sort_rows(tables.services);
  if (sort_rows(tables.backends) != tables.backends.end()) {
    return fail(errc::ambiguous, "a service has a backend twice");
  }
  return {};
}

}  // namespace postern::dataplane
