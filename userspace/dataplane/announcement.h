// SPDX-License-Identifier: Apache-2.0
// Tells the neighbours on a site's interface that an address has come here: whoever had another MAC for it
// uses the new one from then on (SPEC 1.21).
#pragma once

#include <set>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/ip.h"
#include "core/result.h"

namespace postern::dataplane {

// The frame: an ARP announcement (RFC 5227 2.3) for IPv4, else an unsolicited neighbour advertisement of a
// router that overrides (RFC 4861 7.2.6), from the address itself.
Bytes announcement(const MacAddress& mac, const IpAddress& address);

// Sends that frame once by the interface.
Result<> announce(IfIndex ifindex, const MacAddress& mac, const IpAddress& address);

// Addresses of the gateway's own interfaces, whichever they are on.
Result<std::set<IpAddress>> configured_addresses();

}  // namespace postern::dataplane
