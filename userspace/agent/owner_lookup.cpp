// SPDX-License-Identifier: Apache-2.0
#include "agent/owner_lookup.h"

#include <arpa/inet.h>

#include <algorithm>

namespace postern::agent {
namespace {

constexpr std::uint32_t kSegmentBits = 32;  // of a key's prefixlen

IpAddress address_of(const pt_owner_key4& key) {
  IpAddress address;
  address.bytes[10] = address.bytes[11] = 0xff;
  std::copy(std::begin(key.address), std::end(key.address), address.bytes.begin() + 12);
  return address;
}

IpAddress address_of(const pt_owner_key6& key) {
  IpAddress address;
  std::copy(std::begin(key.address), std::end(key.address), address.bytes.begin());
  return address;
}

template <class Rows>
std::optional<OwnedPrefix> longest(const Rows& rows, std::uint32_t vni, const IpAddress& address) {
  std::optional<OwnedPrefix> best;
  for (const auto& [key, owner] : rows) {
    if (ntohl(key.vni_be) != vni || key.prefixlen < kSegmentBits) continue;
    const IpPrefix prefix{address_of(key), static_cast<std::uint8_t>(key.prefixlen - kSegmentBits)};
    if (!prefix.contains(address) || (best && best->prefix.length >= prefix.length)) continue;
    best = OwnedPrefix{prefix, owner};
  }
  return best;
}

}  // namespace

std::optional<OwnedPrefix> longest_owner(const dataplane::Tables& tables, std::uint32_t vni,
                                         const IpAddress& address) {
  return address.is_v4() ? longest(tables.owners4, vni, address) : longest(tables.owners6, vni, address);
}

}  // namespace postern::agent
