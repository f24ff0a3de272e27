// SPDX-License-Identifier: Apache-2.0
#include "dataplane/compile.h"

namespace postern::dataplane {

// Who was removed from the mesh has no number any more, and what it holds must not keep a snapshot out.
Claimants claimants_in(const authority::Snapshot& snapshot, const std::string& own_gateway,
                       const std::map<std::string, PeerId>& peer_ids) {
  Claimants claimants;
  for (const authority::Resource& resource : snapshot.resources) {
    std::map<std::string, std::uint32_t>& of_resource = claimants[resource.number];
    for (const auto* list : {&resource.candidates, &resource.former}) {
      for (const std::string& gateway : *list) {
        if (gateway == own_gateway) {
          of_resource.emplace(gateway, PT_HOLDER_LOCAL);
        } else if (const auto id = peer_ids.find(gateway); id != peer_ids.end()) {
          of_resource.emplace(gateway, id->second.value);
        }
      }
    }
  }
  return claimants;
}

}  // namespace postern::dataplane
