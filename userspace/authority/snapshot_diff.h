// SPDX-License-Identifier: Apache-2.0
// What another snapshot would change for whom, as sentences for people (SPEC 6.2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "authority/snapshot.h"

namespace postern::authority {

struct Change {
  std::string_view kind;  // "peer.cut", "prefix.moved"; static, an interface like an error's code
  std::string subject;    // whom it is about: "peer site-b", "10.2.0.0/24 in blue"
  std::string text;       // a sentence without its subject: "is cut off: it was removed"
};

// In the order authority, gateways, peers, segments, prefixes, resources, rules. Serial, prev, issue and
// expiry are no changes: every snapshot has its own.
std::vector<Change> diff_snapshots(const Snapshot& before, const Snapshot& after);

}  // namespace postern::authority
