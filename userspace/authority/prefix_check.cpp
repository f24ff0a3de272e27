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

// What it shares with the prefix before it, if there is one, was looked up already.
Result<> check_prefix(const Prefix& prefix, const Prefix* before, std::size_t at, const SnapshotNames& names,
                      const Place& place) {
  const bool known_segment = before != nullptr && before->segment == prefix.segment;
  if (!known_segment && names.segment(prefix.segment) == nullptr) {
    return fail(errc::reference, place("prefixes", at) + ": names the segment " + in_quotes(prefix.segment) +
                                     ", which does not exist");
  }
  const bool known_owner = before != nullptr && before->owner == prefix.owner;
  if (!known_owner && !names.has_owner(prefix.owner)) {
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

// Both in rising order of addresses, so that one walk over the two tells: of the stations at or above a
// prefix's first address, the first is inside, or none is.
Result<> check_recursion(const Snapshot& snapshot, const PrefixIndex& index,
                         const std::vector<Station>& stations, const Place& place) {
  Result<> out;
  auto station = stations.begin();
  AddressOrder last;
  index.each_in_order([&](const AddressOrder& first, unsigned length, std::size_t at) {
    if (!out || length == 0) return;
    // Each segment begins below the one before.
    if (first < last) station = stations.begin();
    last = first;
    while (station != stations.end() && station->order < first)
      ++station;
    if (station == stations.end() || !first.holds(length, station->order)) return;
    out =
        fail(errc::field, place(station->list, station->at) + ": the underlay address " +
                              station->address.text() + " lies inside the mesh prefix " +
                              snapshot.prefixes[at].prefix.text() + " (" + place("prefixes", at) +
                              "); the tunnel would run through itself. Tunnels must end outside of the mesh");
  });
  return out;
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

Result<> check_prefixes(const Snapshot& snapshot, const SnapshotNames& names,
                        const std::vector<Station>& stations, const Place& place) {
  for (std::size_t i = 0; i < snapshot.prefixes.size(); ++i) {
    const Prefix* before = i > 0 ? &snapshot.prefixes[i - 1] : nullptr;
    if (Result<> r = check_prefix(snapshot.prefixes[i], before, i, names, place); !r) return r;
  }
  const Result<PrefixIndex> index = PrefixIndex::of(snapshot, names, place);
  if (!index) return tl::unexpected<Error>(index.error());
  if (Result<> r = check_recursion(snapshot, *index, stations, place); !r) return r;
  if (Result<> r = check_gateway_addresses(snapshot, names, *index, place); !r) return r;
  return check_segment_gateways(snapshot, *index, place);
}

}  // namespace postern::authority
