// SPDX-License-Identifier: Apache-2.0
#include "authority/prefix_check.h"

#include <algorithm>
#include <set>

#include "authority/prefix_index.h"

namespace postern::authority {
namespace {

bool is_ownable(const IpPrefix& prefix) {
  if (prefix.is_default()) return true;
  const bool unspecified_host = prefix.length == prefix.max_length() && prefix.address.is_unspecified();
  return !prefix.address.is_multicast() && !prefix.address.is_loopback() && !prefix.address.is_link_local() &&
         !unspecified_host;
}

Result<> check_prefix(const Prefix& prefix, std::size_t at, const SnapshotNames& names, const Place& place) {
  if (names.segment(prefix.segment) == nullptr) {
    return fail(errc::reference, place("prefixes", at) + ": names the segment " + in_quotes(prefix.segment) +
                                     ", which does not exist");
  }
  if (!names.has_owner(prefix.owner)) {
    return fail(errc::reference, place("prefixes", at) + ": is owned by " +
                                     std::string(word_of(prefix.owner.kind)) + " " +
                                     in_quotes(prefix.owner.id) + ", which does not exist");
  }
  if (!names.has_class(prefix.class_id)) {
    return fail(errc::reference, place("prefixes", at) + ": names the class " + in_quotes(prefix.class_id) +
                                     ", which is not declared in classes");
  }
  if (!is_ownable(prefix.prefix)) {
    return fail(errc::field, place("prefixes", at) + ": " + prefix.prefix.text() +
                                 " is multicast, loopback, link-local or unspecified; nobody can own it");
  }
  return {};
}

struct Station {
  IpAddress address;
  std::string_view list;
  std::size_t at;
};

// Families apart: the IPv4 addresses, kept v4-mapped, lie amid IPv6 ones that a short IPv6 prefix may hold.
std::pair<bool, IpAddress> in_order(const IpAddress& address) {
  return {address.is_v4(), address};
}

std::vector<Station> stations_of(const Snapshot& snapshot) {
  std::vector<Station> out;
  out.reserve(snapshot.peers.size() + snapshot.gateways.size());
  for (std::size_t i = 0; i < snapshot.gateways.size(); ++i) {
    for (const IpAddress& address : snapshot.gateways[i].underlay)
      out.push_back({address, "gateways", i});
  }
  for (std::size_t i = 0; i < snapshot.peers.size(); ++i) {
    for (const IpAddress& address : snapshot.peers[i].addresses)
      out.push_back({address, "peers", i});
  }
  std::sort(out.begin(), out.end(),
            [](const Station& a, const Station& b) { return in_order(a.address) < in_order(b.address); });
  return out;
}

Result<> check_recursion(const Snapshot& snapshot, const Place& place) {
  const std::vector<Station> stations = stations_of(snapshot);
  for (std::size_t i = 0; i < snapshot.prefixes.size(); ++i) {
    const IpPrefix& prefix = snapshot.prefixes[i].prefix;
    if (prefix.is_default()) continue;
    // The first station at or above the prefix's first address is inside, or none is.
    const auto inside = std::lower_bound(
        stations.begin(), stations.end(), in_order(prefix.address),
        [](const Station& station, const auto& first) { return in_order(station.address) < first; });
    if (inside == stations.end() || !prefix.contains(inside->address)) continue;
    return fail(errc::field,
                place(inside->list, inside->at) + ": the underlay address " + inside->address.text() +
                    " lies inside the mesh prefix " + prefix.text() + " (" + place("prefixes", i) +
                    "); the tunnel would run through itself. Tunnels must end outside of the mesh");
  }
  return {};
}

Result<> check_gateway_addresses(const Snapshot& snapshot, const SnapshotNames& names,
                                 const PrefixIndex& index, const Place& place) {
  std::set<std::pair<std::string_view, IpAddress>> taken;
  for (std::size_t i = 0; i < snapshot.gateways.size(); ++i) {
    const Gateway& gateway = snapshot.gateways[i];
    std::set<std::pair<std::string_view, bool>> families;
    for (const SegmentAddress& own : gateway.addresses) {
      const std::string where = place("gateways", i) + ": the address " + own.address.text();
      const Segment* segment = names.segment(own.segment);
      if (segment == nullptr) {
        return fail(errc::reference,
                    where + " is in segment " + in_quotes(own.segment) + ", which does not exist");
      }
      if (!families.emplace(own.segment, own.address.is_v4()).second) {
        return fail(errc::field, where + " is the gateway's second of its family in segment " +
                                     in_quotes(own.segment) + "; it answers for one");
      }
      if (!taken.emplace(own.segment, own.address).second) {
        return fail(errc::field,
                    where + " is another gateway's already, in segment " + in_quotes(own.segment));
      }
      const Prefix* prefix = index.longest_match(segment->vni, own.address);
      if (prefix == nullptr || prefix->owner != Owner{OwnerKind::gateway, gateway.id}) {
        return fail(errc::field, where + " lies in no prefix of segment " + in_quotes(own.segment) +
                                     " that the gateway itself owns; add such a prefix");
      }
    }
  }
  return {};
}

Result<> check_segment_gateways(const Snapshot& snapshot, const PrefixIndex& index, const Place& place) {
  for (std::size_t i = 0; i < snapshot.segments.size(); ++i) {
    const Segment& segment = snapshot.segments[i];
    if (!segment.gateway || index.longest_match(segment.vni, *segment.gateway) != nullptr) continue;
    return fail(errc::field, place("segments", i) + ": the gateway address " + segment.gateway->text() +
                                 " lies in no prefix of the segment");
  }
  return {};
}

}  // namespace

Result<> check_prefixes(const Snapshot& snapshot, const SnapshotNames& names, const Place& place) {
  for (std::size_t i = 0; i < snapshot.prefixes.size(); ++i) {
    if (Result<> r = check_prefix(snapshot.prefixes[i], i, names, place); !r) return r;
  }
  const Result<PrefixIndex> index = PrefixIndex::of(snapshot, names, place);
  if (!index) return tl::unexpected<Error>(index.error());
  if (Result<> r = check_recursion(snapshot, place); !r) return r;
  if (Result<> r = check_gateway_addresses(snapshot, names, *index, place); !r) return r;
  return check_segment_gateways(snapshot, *index, place);
}

}  // namespace postern::authority
