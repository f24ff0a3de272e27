// SPDX-License-Identifier: Apache-2.0
// Who owns an address. Each segment's prefixes stand under its VNI. Under PT_VNI_ANY stands their union, for
// packets that belong to no segment: is this address the mesh's at all? A default route owns everything and
// would say yes to the whole internet, so it is left out there; and a prefix inside of a shorter one adds
// nothing, so it is, too.
#include <arpa/inet.h>

#include "dataplane/compile_parts.h"

namespace postern::dataplane {
namespace {

using authority::OwnerKind;
using authority::Snapshot;

Result<pt_owner> owner_row(const authority::Prefix& prefix, const SnapshotIndex& index) {
  // Made only for an error: there are up to two million prefixes.
  const auto where = [&] { return "prefix " + prefix.prefix.text() + " of segment " + prefix.segment; };
  pt_owner row{};
  const Result<std::uint16_t> class_number = index.class_number(prefix.class_id, "a prefix");
  if (!class_number) return fail(class_number.error().code, where() + ": " + class_number.error().context);
  row.class_id = *class_number;
  switch (prefix.owner.kind) {
    case OwnerKind::service: {
      const Result<std::uint32_t> service = index.service_number(prefix.owner.id, "its owner");
      if (!service) return fail(service.error().code, where() + ": " + service.error().context);
      row.kind = PT_OWNER_SERVICE;
      row.id = *service;
      return row;
    }
    case OwnerKind::resource: {
      const auto resource = index.resource(prefix.owner.id, "its owner");
      if (!resource) return fail(resource.error().code, where() + ": " + resource.error().context);
      row.kind = PT_OWNER_RESOURCE;
      row.id = (*resource)->number.value;
      return row;
    }
    case OwnerKind::gateway:
      if (prefix.owner.id == index.own().id) {
        row.kind = PT_OWNER_LOCAL;
        return row;
      }
      [[fallthrough]];
    case OwnerKind::peer: {
      const Result<PeerId> peer = index.peer(prefix.owner.id, "its owner");
      if (!peer) return fail(peer.error().code, where() + ": " + peer.error().context);
      row.kind = PT_OWNER_PEER;
      row.id = peer->value;
      if (prefix.prefix.is_default()) row.flags = PT_OWNER_DEFAULT_ROUTE;
      return row;
    }
  }
  return row;
}

void add_row(const IpPrefix& prefix, std::uint32_t vni, const pt_owner& owner, Tables& tables) {
  const auto length = __u32{32} + prefix.length;
  if (prefix.is_v4()) {
    pt_owner_key4 key{length, htonl(vni), {}};
    std::copy(prefix.address.bytes.begin() + 12, prefix.address.bytes.end(), key.address);
    tables.owners4.emplace_back(key, owner);
  } else {
    pt_owner_key6 key{length, htonl(vni), {}};
    std::copy(prefix.address.bytes.begin(), prefix.address.bytes.end(), key.address);
    tables.owners6.emplace_back(key, owner);
  }
}

void add_union(const Snapshot& snapshot, Tables& tables) {
  std::vector<IpPrefix> owned;
  owned.reserve(snapshot.prefixes.size());
  for (const authority::Prefix& prefix : snapshot.prefixes) {
    if (!prefix.prefix.is_default()) owned.push_back(prefix.prefix);
  }
  // By address, then length: what covers a prefix comes before it, with nothing uncovered in between.
  std::sort(owned.begin(), owned.end());
  // One candidate a family, for IPv4 sorts into the midst of IPv6.
  const IpPrefix* covering_of[2] = {};
  for (const IpPrefix& prefix : owned) {
    const IpPrefix*& covering = covering_of[prefix.is_v4() ? 0 : 1];
    if (covering != nullptr && covering->contains(prefix)) continue;
    covering = &prefix;
    add_row(prefix, PT_VNI_ANY, pt_owner{}, tables);
  }
}

Result<> check_count(const Snapshot& snapshot) {
  const auto v4 = static_cast<std::size_t>(std::count_if(snapshot.prefixes.begin(), snapshot.prefixes.end(),
                                                         [](const auto& p) { return p.prefix.is_v4(); }));
  for (const auto& [family, count] :
       {std::pair("IPv4", v4), std::pair("IPv6", snapshot.prefixes.size() - v4)}) {
    if (count <= PT_MAX_PREFIXES) continue;
    return fail(errc::capacity, "the snapshot has " + std::to_string(count) + " " + family +
                                    " prefixes, and there is room for " + std::to_string(PT_MAX_PREFIXES));
  }
  return {};
}

}  // namespace

Result<> compile_owners(const Snapshot& snapshot, const SnapshotIndex& index, Tables& tables) {
  if (Result<> fits = check_count(snapshot); !fits) return fits;
  for (const authority::Prefix& prefix : snapshot.prefixes) {
    const auto segment = index.segment(prefix.segment, "a prefix");
    if (!segment) return fail(segment.error().code, prefix.prefix.text() + ": " + segment.error().context);
    const Result<pt_owner> row = owner_row(prefix, index);
    if (!row) return fail(row.error().code, row.error().context);
    add_row(prefix.prefix, segment->vni.value, *row, tables);
  }
  add_union(snapshot, tables);
  const bool twice4 = sort_rows(tables.owners4) != tables.owners4.end();
  const bool twice6 = sort_rows(tables.owners6) != tables.owners6.end();
  if (twice4 || twice6) return fail(errc::ambiguous, "a prefix has two owners in one segment");
  return {};
}

}  // namespace postern::dataplane
