// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "dataplane/plane.h"

namespace postern::dataplane {

// The ids of these peers, allotting new ones (and their counter rows) in the pinned map `peer_ids`. A name
// keeps its id for as long as the pins live. Fails with errc::capacity when all PT_MAX_PEERS are taken.
Result<std::map<std::string, PeerId>> allot_peer_ids(const Plane& plane,
                                                     const std::vector<std::string>& names);

// The ids of those of these peers that have one; by a lookup each, so for few names. Allots nothing.
Result<std::map<std::string, PeerId>> find_peer_ids(const Plane& plane,
                                                    const std::vector<std::string>& names);

}  // namespace postern::dataplane
