// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <unordered_map>

#include "authority/snapshot.h"
#include "dataplane/compile.h"

namespace postern::dataplane {

using SegmentSet = std::bitset<PT_MAX_SEGMENTS>;

// The snapshot's names as the numbers that the tables use. Borrows from snapshot and site, which must outlive
// it.
class SnapshotIndex {
 public:
  struct SegmentNumbers {
    std::uint32_t index = 0;
    Vni vni;
  };

  // Refuses numbers that the tables have no room for, and names or VNIs that occur twice.
  static Result<SnapshotIndex> make(const authority::Snapshot& snapshot, const Site& site);

  const authority::Gateway& own() const { return *own_; }
  // `where` says who names it, for the error.
  Result<SegmentNumbers> segment(std::string_view id, std::string_view where) const;
  Result<std::uint16_t> class_number(std::string_view id, std::string_view where) const;
  Result<const authority::Resource*> resource(std::string_view id, std::string_view where) const;
  Result<PeerId> peer(std::string_view id, std::string_view where) const;  // or another gateway
  Result<std::uint32_t> service_number(std::string_view id, std::string_view where) const;
  // Nothing when the snapshot has no resource of this number.
  const authority::Resource* resource_of(ResourceNumber number) const;

 private:
  Result<> add_segments(const authority::Snapshot& snapshot);
  Result<> add_classes(const authority::Snapshot& snapshot);
  Result<> add_resources(const authority::Snapshot& snapshot);
  Result<> add_services(const authority::Snapshot& snapshot);
  Result<> add_peers(const authority::Snapshot& snapshot, const Site& site);

  const authority::Gateway* own_ = nullptr;
  std::unordered_map<std::string_view, SegmentNumbers> segments_;
  std::unordered_map<std::string_view, std::uint16_t> classes_;
  std::unordered_map<std::string_view, const authority::Resource*> resources_;
  std::unordered_map<std::uint32_t, const authority::Resource*> numbers_;
  std::unordered_map<std::string_view, std::uint32_t> services_;
  std::unordered_map<std::string_view, PeerId> peers_;
};

}  // namespace postern::dataplane
