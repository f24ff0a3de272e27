// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/ip.h"
#include "dataplane/tables.h"

namespace postern::agent {

struct OwnedPrefix {
  IpPrefix prefix;
  pt_owner owner{};
};

// Whose the address is in the segment, by longest prefix, as the packet path would find it. Looks at all
// rows: for questions, not for packets.
std::optional<OwnedPrefix> longest_owner(const dataplane::Tables& tables, std::uint32_t vni,
                                         const IpAddress& address);

}  // namespace postern::agent
