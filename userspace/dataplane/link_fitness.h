// SPDX-License-Identifier: Apache-2.0
// Which interfaces can serve, by what they are and what they belong to (SPEC 6.1). Pure.
//
// Two things decide. XDP runs in the driver of a device and sends to the driver of another, so a device
// without such a driver of its own (a bridge, a tunnel, a macvlan) can do neither. And the kernel's routes
// name the device that has the addresses, so one that belongs to another (a bridge's port, a bond's member)
// is named by none. A VLAN's device serves the site by the device below it, its carrier.
#pragma once

#include "config/config.h"
#include "core/result.h"
#include "dataplane/netdev.h"

namespace postern::dataplane {

// errc::interface_refused with the reason and what to configure instead.
Result<> check_fit(const Link& link, config::Role role);

// Whether a VLAN's frames may come and go by this one. `vlan` is the device above it.
Result<> check_carrier(const Link& carrier, const Link& vlan);

}  // namespace postern::dataplane
