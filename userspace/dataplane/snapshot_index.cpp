// SPDX-License-Identifier: Apache-2.0
#include "dataplane/snapshot_index.h"

#include <set>

namespace postern::dataplane {
namespace {

template <class Map>
auto look_up(const Map& map, std::string_view id, std::string_view where, ErrorCode code,
             std::string_view what) -> Result<typename Map::mapped_type> {
  const auto found = map.find(id);
  if (found != map.end()) return found->second;
  return fail(code, std::string(where) + " names the " + std::string(what) + " " + std::string(id) +
                        ", which the snapshot does not have");
}

tl::unexpected<Error> too_many(std::string_view what, std::size_t need, std::size_t limit) {
  return fail(errc::capacity, "the snapshot has " + std::to_string(need) + " " + std::string(what) +
                                  ", and there is room for " + std::to_string(limit));
}

tl::unexpected<Error> twice(std::string_view what, std::string_view name) {
  return fail(errc::ambiguous, "the snapshot has " + std::string(what) + " " + std::string(name) + " twice");
}

const authority::Gateway* find_own(const authority::Snapshot& snapshot, const std::string& id) {
  for (const authority::Gateway& gateway : snapshot.gateways) {
    if (gateway.id == id) return &gateway;
  }
  return nullptr;
}

}  // namespace

Result<SnapshotIndex> SnapshotIndex::make(const authority::Snapshot& snapshot, const Site& site) {
  SnapshotIndex index;
  index.own_ = find_own(snapshot, site.gateway);
  if (index.own_ == nullptr) {
    std::string known;
    for (const authority::Gateway& gateway : snapshot.gateways)
      known += (known.empty() ? "" : ", ") + gateway.id;
    return fail(errc::unknown_gateway, "the snapshot has no gateway " + site.gateway + "; it has " +
                                           (known.empty() ? "none" : known) +
                                           "; correct `gateway` in the config");
  }
  if (Result<> added = index.add_segments(snapshot); !added) return pass_on(std::move(added));
  if (Result<> added = index.add_classes(snapshot); !added) return pass_on(std::move(added));
  if (Result<> added = index.add_resources(snapshot); !added) return pass_on(std::move(added));
  if (Result<> added = index.add_services(snapshot); !added) return pass_on(std::move(added));
  if (Result<> added = index.add_peers(snapshot, site); !added) return pass_on(std::move(added));
  return index;
}

Result<> SnapshotIndex::add_segments(const authority::Snapshot& snapshot) {
  if (snapshot.segments.size() > PT_MAX_SEGMENTS) {
    return too_many("segments", snapshot.segments.size(), PT_MAX_SEGMENTS);
  }
  std::set<Vni> vnis;
  for (const authority::Segment& segment : snapshot.segments) {
    if (segment.vni.value == PT_VNI_ANY || segment.vni.value > PT_MAX_VNI) {
      return fail(errc::unsupported, "segment " + segment.id + " has VNI " +
                                         std::to_string(segment.vni.value) + "; VNIs go from 1 to " +
                                         std::to_string(PT_MAX_VNI));
    }
    if (segment.gateway || segment.mac) {
      return fail(errc::unsupported,
                  "segment " + segment.id +
                      " has a virtual gateway address or MAC, which this version does not serve");
    }
    if (!vnis.insert(segment.vni).second) return twice("VNI", std::to_string(segment.vni.value));
    const SegmentNumbers numbers{static_cast<std::uint32_t>(segments_.size()), segment.vni};
    if (!segments_.emplace(segment.id, numbers).second) return twice("segment", segment.id);
  }
  return {};
}

Result<> SnapshotIndex::add_classes(const authority::Snapshot& snapshot) {
  if (snapshot.classes.size() > PT_MAX_CLASSES) {
    return too_many("classes", snapshot.classes.size(), PT_MAX_CLASSES);
  }
  for (const std::string& id : snapshot.classes) {
    if (!classes_.emplace(id, static_cast<std::uint16_t>(classes_.size() + 1)).second)
      return twice("class", id);
  }
  return {};
}

Result<> SnapshotIndex::add_resources(const authority::Snapshot& snapshot) {
  for (const authority::Resource& resource : snapshot.resources) {
    if (resource.number.value >= PT_MAX_RESOURCES) {
      return fail(errc::capacity, "resource " + resource.id + " has number " +
                                      std::to_string(resource.number.value) + ", and numbers go up to " +
                                      std::to_string(PT_MAX_RESOURCES - 1));
    }
    if (!resources_.emplace(resource.id, &resource).second) return twice("resource", resource.id);
    if (!numbers_.emplace(resource.number.value, &resource).second) {
      return twice("resource number", std::to_string(resource.number.value));
    }
  }
  return {};
}

Result<> SnapshotIndex::add_services(const authority::Snapshot& snapshot) {
  if (snapshot.services.size() > PT_MAX_SERVICES) {
    return too_many("services", snapshot.services.size(), PT_MAX_SERVICES);
  }
  for (const authority::Service& service : snapshot.services) {
    if (!services_.emplace(service.id, static_cast<std::uint32_t>(services_.size())).second)
      return twice("service", service.id);
  }
  return {};
}

Result<> SnapshotIndex::add_peers(const authority::Snapshot& snapshot, const Site& site) {
  for (const std::string& name : peer_names(snapshot, site.gateway)) {
    const auto id = site.peer_ids.find(name);
    if (id == site.peer_ids.end()) return fail(errc::unknown_name, "no id was allotted to peer " + name);
    // The name in the map of the site outlives this index; the local copy would not.
    if (!peers_.emplace(id->first, id->second).second) return twice("peer or gateway", name);
  }
  return {};
}

Result<SnapshotIndex::SegmentNumbers> SnapshotIndex::segment(std::string_view id,
                                                             std::string_view where) const {
  return look_up(segments_, id, where, errc::unknown_segment, "segment");
}
Result<std::uint16_t> SnapshotIndex::class_number(std::string_view id, std::string_view where) const {
  return look_up(classes_, id, where, errc::unknown_name, "class");
}
Result<const authority::Resource*> SnapshotIndex::resource(std::string_view id,
                                                           std::string_view where) const {
  return look_up(resources_, id, where, errc::unknown_name, "resource");
}
Result<std::uint32_t> SnapshotIndex::service_number(std::string_view id, std::string_view where) const {
  return look_up(services_, id, where, errc::unknown_name, "service");
}
const authority::Resource* SnapshotIndex::resource_of(ResourceNumber number) const {
  const auto found = numbers_.find(number.value);
  return found == numbers_.end() ? nullptr : found->second;
}
Result<PeerId> SnapshotIndex::peer(std::string_view id, std::string_view where) const {
  return look_up(peers_, id, where, errc::unknown_name, "peer or gateway");
}

}  // namespace postern::dataplane
