// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "authority/snapshot.h"
#include "authority/snapshot_names.h"
#include "authority/station.h"
#include "core/result.h"

namespace postern::authority {

// Every prefix names a segment, an owner and a class that exist, is unicast, and has one owner in its
// segment; no underlay address lies inside a prefix, but for a default route (its tunnel would run through
// itself); a gateway's address in a segment is its own.
Result<> check_prefixes(const Snapshot& snapshot, const SnapshotNames& names,
                        const std::vector<Station>& stations, const Place& place);

}  // namespace postern::authority
