// SPDX-License-Identifier: Apache-2.0
// What the gateway's own stack reaches through the host port: prefixes of peers and other gateways, in
// segments where it has an address to speak from. Not a default route, which would take the host's own, and
// no prefix that may be this site's: its route is the operator's.
#include "dataplane/compile_parts.h"

namespace postern::dataplane {
namespace {

const IpAddress* address_in(const authority::Gateway& own, const authority::Prefix& prefix) {
  for (const authority::SegmentAddress& each : own.addresses)
    if (each.segment == prefix.segment && each.address.is_v4() == prefix.prefix.is_v4()) return &each.address;
  return nullptr;
}

bool is_elsewhere(const authority::Owner& owner, const authority::Gateway& own) {
  return owner.kind == authority::OwnerKind::peer ||
         (owner.kind == authority::OwnerKind::gateway && owner.id != own.id);
}

}  // namespace

std::map<std::string, std::vector<HostRoute>> compile_host_routes(const authority::Snapshot& snapshot,
                                                                  const authority::Gateway& own) {
  std::map<std::string, std::vector<HostRoute>> out;
  for (const authority::Prefix& prefix : snapshot.prefixes) {
    if (prefix.prefix.length == 0 || !is_elsewhere(prefix.owner, own)) continue;
    if (const IpAddress* source = address_in(own, prefix))
      out[prefix.segment].push_back({prefix.prefix, *source});
  }
  return out;
}

}  // namespace postern::dataplane
