// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ip.h"
#include "dataplane/tables.h"

namespace postern::agent {

struct OwnedPrefix {
  std::uint32_t vni = 0;
  IpPrefix prefix;
  pt_owner owner{};
};

// The rows of both families, without those under PT_VNI_ANY, which repeat the others for the "owned in any
// segment" test.
std::vector<OwnedPrefix> owned_prefixes(const dataplane::Tables& tables);

// Whose the address is in the segment, by longest prefix, as the packet path would find it. Looks at all
// rows: for questions, not for packets.
std::optional<OwnedPrefix> longest_owner(const dataplane::Tables& tables, std::uint32_t vni,
                                         const IpAddress& address);

}  // namespace postern::agent
