// SPDX-License-Identifier: Apache-2.0
// A station of the underlay: an address at which a gateway's or a peer's tunnel ends.
#pragma once

#include <string_view>
#include <vector>

#include "authority/address_order.h"
#include "authority/snapshot.h"
#include "authority/snapshot_names.h"
#include "core/result.h"

namespace postern::authority {

struct Station {
  IpAddress address;
  std::string_view list;  // "gateways" or "peers", and where in it
  std::size_t at;
  AddressOrder order = AddressOrder::of(address);
};

// All of them, in rising order. Fails when an owner has none or too many, an address can be no tunnel's end,
// or one address is two stations'.
Result<std::vector<Station>> stations_of(const Snapshot& snapshot, const Place& place);

// Unicast, and no loopback, link-local or unspecified address.
bool can_be_station(const IpAddress& address);

}  // namespace postern::authority
