// SPDX-License-Identifier: Apache-2.0
#include "agent/port_slots.h"

#include <set>

#include "abi.h"
#include "agent/errors.h"

namespace postern::agent {

Result<> PortSlots::assign(const std::vector<std::string>& names) {
  if (names.size() > PT_MAX_PORTS) {
    return fail(errc::ports_exhausted, "the config has " + std::to_string(names.size()) +
                                           " interfaces, the limit is " + std::to_string(PT_MAX_PORTS));
  }
  std::map<std::string, std::uint16_t> kept;
  std::set<std::uint16_t> taken;
  for (const std::string& name : names) {
    const auto had = held_.find(name);
    if (had == held_.end() || had->second >= PT_MAX_PORTS || !taken.insert(had->second).second) continue;
    kept.emplace(name, had->second);
  }
  std::uint16_t next = 0;
  for (const std::string& name : names) {
    if (kept.contains(name)) continue;
    while (taken.contains(next))
      ++next;
    taken.insert(next);
    kept.emplace(name, next);
  }
  held_ = std::move(kept);
  return {};
}

}  // namespace postern::agent
