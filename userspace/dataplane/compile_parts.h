// SPDX-License-Identifier: Apache-2.0
// The parts that compile() is made of: each fills the tables of one concern, and is pure.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "dataplane/compile.h"
#include "dataplane/snapshot_index.h"

namespace postern::dataplane {

// peers and endpoints. `next_change` falls to the next instant at which a peer's state changes by time.
Result<> compile_peers(const authority::Snapshot& snapshot, const SnapshotIndex& index, UtcSeconds now,
                       Tables& tables, std::optional<UtcSeconds>& next_change);
// rates, of the peers and of the guarded ports.
Result<> compile_rates(const authority::Snapshot& snapshot, const SnapshotIndex& index, const Site& site,
                       Tables& tables);
// services and backends.
Result<> compile_services(const authority::Snapshot& snapshot, const SnapshotIndex& index, Tables& tables);
std::map<std::string, std::vector<HostRoute>> compile_host_routes(const authority::Snapshot& snapshot,
                                                                  const authority::Gateway& own);
// owners4 and owners6.
Result<> compile_owners(const authority::Snapshot& snapshot, const SnapshotIndex& index, Tables& tables);
// policy and port_classes.
Result<> compile_policy(const authority::Snapshot& snapshot, const SnapshotIndex& index, Tables& tables);
// "web to db: tcp 80,443", for people.
std::string rule_text(const authority::Rule& rule);

inline pt_address to_abi(const IpAddress& address) {
  pt_address out{};
  std::copy(address.bytes.begin(), address.bytes.end(), out.bytes);
  return out;
}

// Sorts as tables are sorted, by the bytes of the key, and gives the first of two rows with one key, or
// end().
template <class Key, class Value>
auto sort_rows(Rows<Key, Value>& rows) {
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return std::memcmp(&a.first, &b.first, sizeof a.first) < 0; });
  return std::adjacent_find(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::memcmp(&a.first, &b.first, sizeof a.first) == 0;
  });
}

}  // namespace postern::dataplane
