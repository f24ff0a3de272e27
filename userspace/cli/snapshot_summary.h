// SPDX-License-Identifier: Apache-2.0
// A snapshot in words, for those who are about to sign or apply it.
#pragma once

#include <string>

#include "authority/snapshot.h"

namespace postern::cli {

// What it is: serial, mesh, hash, validity, root, counts. `now` tells expiry in words.
std::string snapshot_headline(const authority::Snapshot& snapshot, const Hash256& hash, UtcSeconds now);

// What it says: gateways, peers with their state and prefixes, resources, and the rules as sentences.
std::string snapshot_details(const authority::Snapshot& snapshot, UtcSeconds now);

}  // namespace postern::cli
