// SPDX-License-Identifier: Apache-2.0
#include "dataplane/compile_parts.h"

namespace postern::dataplane {

// Who was removed from the mesh has no number any more, and what it holds must not keep a snapshot out.
Claimants claimants_of(const authority::Snapshot& snapshot, const SnapshotIndex& index) {
  Claimants claimants;
  for (const authority::Resource& resource : snapshot.resources) {
    std::map<std::string, std::uint32_t>& of_resource = claimants[resource.number];
    for (const auto* list : {&resource.candidates, &resource.former}) {
      for (const std::string& gateway : *list) {
        if (gateway == index.own().id) {
          of_resource.emplace(gateway, PT_HOLDER_LOCAL);
        } else if (const Result<PeerId> peer = index.peer(gateway, resource.id)) {
          of_resource.emplace(gateway, peer->value);
        }
      }
    }
  }
  return claimants;
}

}  // namespace postern::dataplane
