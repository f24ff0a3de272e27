// SPDX-License-Identifier: Apache-2.0
#include "authority/station.h"

#include <algorithm>

#include "abi.h"
#include "authority/errors.h"

namespace postern::authority {
namespace {

Result<> add(const std::vector<IpAddress>& addresses, std::string_view list, std::size_t at,
             const Place& place, std::vector<Station>& out) {
  static constexpr std::size_t kLimit = PT_MAX_UNDERLAY_ADDRESSES;
  if (addresses.empty() || addresses.size() > kLimit) {
    return fail(errc::field, place(list, at) + ": has " + std::to_string(addresses.size()) +
                                 " underlay addresses, expected 1 to " + std::to_string(kLimit));
  }
  for (const IpAddress& address : addresses) {
    if (!can_be_station(address)) {
      return fail(errc::field,
                  place(list, at) + ": the underlay address " + address.text() +
                      " is unspecified, multicast, loopback or link-local; no tunnel can end there");
    }
    out.push_back({address, list, at});
  }
  return {};
}

}  // namespace

bool can_be_station(const IpAddress& address) {
  return !address.is_unspecified() && !address.is_multicast() && !address.is_loopback() &&
         !address.is_link_local();
}

Result<std::vector<Station>> stations_of(const Snapshot& snapshot, const Place& place) {
  std::vector<Station> out;
  out.reserve(snapshot.peers.size() + snapshot.gateways.size());
  for (std::size_t i = 0; i < snapshot.gateways.size(); ++i) {
    if (Result<> r = add(snapshot.gateways[i].underlay, "gateways", i, place, out); !r)
      return pass_on(std::move(r));
  }
  for (std::size_t i = 0; i < snapshot.peers.size(); ++i) {
    if (Result<> r = add(snapshot.peers[i].addresses, "peers", i, place, out); !r)
      return pass_on(std::move(r));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Station& a, const Station& b) { return a.order < b.order; });
  const auto twin = std::adjacent_find(
      out.begin(), out.end(), [](const Station& a, const Station& b) { return a.address == b.address; });
  if (twin == out.end()) return out;
  return fail(errc::field, place((twin + 1)->list, (twin + 1)->at) + ": the underlay address " +
                               twin->address.text() + " is taken already, by " + place(twin->list, twin->at) +
                               "; an outer source must name one sender");
}

}  // namespace postern::authority
