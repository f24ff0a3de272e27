// SPDX-License-Identifier: Apache-2.0
#include "dataplane/holders.h"

#include <algorithm>
#include <cstring>

namespace postern::dataplane {

Rows<__u32, pt_resource> holder_rows(const Claimants& claimants, const Holders& holders) {
  Rows<__u32, pt_resource> rows;
  for (const auto& [number, holding] : holders) {
    const auto resource = claimants.find(number);
    if (resource == claimants.end()) continue;  // of a snapshot to come, or gone: there is no prefix to hold
    const auto holder = resource->second.find(holding.holder);
    if (holder == resource->second.end()) continue;
    rows.emplace_back(number.value, pt_resource{holding.epoch.value, holder->second, 0});
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return std::memcmp(&a.first, &b.first, sizeof a.first) < 0; });
  return rows;
}

Holders holders_of(const Rows<__u32, pt_resource>& rows, const std::map<std::uint32_t, std::string>& names) {
  Holders holders;
  for (const auto& [number, row] : rows) {
    const auto name = names.find(row.holder);
    if (name != names.end()) holders[ResourceNumber(number)] = {name->second, Epoch(row.epoch)};
  }
  return holders;
}

}  // namespace postern::dataplane
