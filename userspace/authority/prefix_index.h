// SPDX-License-Identifier: Apache-2.0
// The prefixes of a snapshot in order of segment and address, so that owners are found without the kernel's
// tables.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "authority/address_order.h"
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

  // Calls `visit` with each prefix's first address, length and place in the snapshot's list, in rising order
  // of segment and address.
  template <class Visit>
  void each_in_order(Visit visit) const {
    for (const Row& row : rows_)
      visit(row.first, row.length, row.at);
  }

 private:
  struct Row {
    AddressOrder first;
    Vni segment;
    std::uint32_t at;  // in the snapshot's list
    std::uint8_t length;

    Row(Vni vni, const IpPrefix& prefix, std::size_t index);
    auto place() const { return std::tie(segment, first, length); }
  };

  const Snapshot* snapshot_ = nullptr;
  std::vector<Row> rows_;
};

}  // namespace postern::authority
