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

template <class Key>
IpPrefix prefix_of(const Key& key) {
  return {address_of(key), static_cast<std::uint8_t>(key.prefixlen - kSegmentBits)};
}

template <class Rows>
void collect(const Rows& rows, std::vector<OwnedPrefix>& out) {
  for (const auto& [key, owner] : rows) {
    const std::uint32_t vni = ntohl(key.vni_be);
    if (vni == PT_VNI_ANY || key.prefixlen < kSegmentBits) continue;
    out.push_back({vni, prefix_of(key), owner});
  }
}

template <class Rows>
std::optional<OwnedPrefix> longest(const Rows& rows, std::uint32_t vni, const IpAddress& address) {
  std::optional<OwnedPrefix> best;
  for (const auto& [key, owner] : rows) {
    if (ntohl(key.vni_be) != vni || key.prefixlen < kSegmentBits) continue;
    const IpPrefix prefix = prefix_of(key);
    if (!prefix.contains(address) || (best && best->prefix.length >= prefix.length)) continue;
    best = OwnedPrefix{vni, prefix, owner};
  }
  return best;
}

}  // namespace

std::vector<OwnedPrefix> owned_prefixes(const dataplane::Tables& tables) {
  std::vector<OwnedPrefix> out;
  collect(tables.owners4, out);
  collect(tables.owners6, out);
  return out;
}

std::optional<OwnedPrefix> longest_owner(const dataplane::Tables& tables, std::uint32_t vni,
                                         const IpAddress& address) {
  return address.is_v4() ? longest(tables.owners4, vni, address) : longest(tables.owners6, vni, address);
}

}  // namespace postern::agent
