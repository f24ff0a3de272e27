// SPDX-License-Identifier: Apache-2.0
#include "mesh/members.h"

namespace postern::mesh {

Members::Members(const authority::Snapshot& snapshot) {
  for (const authority::Gateway& gateway : snapshot.gateways) {
    if (gateway.state != authority::State::active) continue;
    const Result<DhPublic> key = link_key(gateway.key);
    if (!key) continue;
    const NodeId node = node_id(gateway.key);
    by_node_.emplace(node, Member{gateway.id, node, *key, gateway.links});
    for (const Endpoint& link : gateway.links)
      addresses_.insert(link.address);
    addresses_.insert(gateway.underlay.begin(), gateway.underlay.end());
  }
}

const Member* Members::find(const NodeId& node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? nullptr : &found->second;
}

}  // namespace postern::mesh
