// SPDX-License-Identifier: Apache-2.0
#include "authority/rollback.h"

#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/utc.h"

namespace postern::authority {
namespace {

template <class Node>
void revoke_as_in(std::vector<Node>& kept, const std::vector<Node>& newest) {
  std::unordered_set<std::string_view> active;
  for (const Node& node : newest)
    if (node.state == State::active) active.insert(node.id);
  for (Node& node : kept)
    if (active.count(node.id) == 0) node.state = State::revoked;
}

}  // namespace

Result<> may_roll_back(const Candidate& kept, const Candidate& newest, UtcSeconds now) {
  const std::string way = "from serial " + std::to_string(newest.snapshot.serial.value) + " to serial " +
                          std::to_string(kept.snapshot.serial.value);
  if (kept.snapshot.root != newest.snapshot.root) {
    return fail(errc::rollback_refused, "there is no way back " + way +
                                            ": it leads across a change of the root; sign the old content "
                                            "under a new serial instead");
  }
  if (kept.snapshot.expires <= now) {
    return fail(errc::rollback_refused, "there is no way back " + way + ": the older one expired at " +
                                            utc_text(kept.snapshot.expires) +
                                            "; sign the old content under a new serial instead");
  }
  return {};
}

Snapshot rolled_back(Snapshot kept, const Snapshot& newest) {
  revoke_as_in(kept.peers, newest.peers);
  revoke_as_in(kept.gateways, newest.gateways);
  kept.epoch_floors = newest.epoch_floors;
  return kept;
}

}  // namespace postern::authority
