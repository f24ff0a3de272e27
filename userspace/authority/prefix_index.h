// SPDX-License-Identifier: Apache-2.0
// The prefixes of a snapshot in order of segment and address, so that owners are found without the kernel's
// tables.
#pragma once

#include <string_view>
#include <vector>

#include "authority/snapshot.h"
#include "authority/snapshot_names.h"
#include "core/result.h"

namespace postern::authority {

class PrefixIndex {
 public:
  // Fails with errc::ownership when a segment has a prefix twice. All segments that prefixes name must be in
  // `names`. The snapshot must outlive the index.
  static Result<PrefixIndex> of(const Snapshot& snapshot, const SnapshotNames& names, const Place& place);

  // The longest prefix of that segment that holds the address, or nullptr.
  const Prefix* longest_match(Vni segment, const IpAddress& address) const;

 private:
  struct Row {
    Vni segment;
    IpPrefix prefix;
    std::size_t at;
    friend bool operator<(const Row& a, const Row& b) {
      if (a.segment != b.segment) return a.segment < b.segment;
      return a.prefix < b.prefix;
    }
  };

  const Snapshot* snapshot_ = nullptr;
  std::vector<Row> rows_;
};

}  // namespace postern::authority
