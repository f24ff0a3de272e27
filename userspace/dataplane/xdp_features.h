// SPDX-License-Identifier: Apache-2.0
// What the kernel says that an interface's XDP can do, by the generic netlink family "netdev" (Linux 6.3).
#pragma once

#include <optional>

#include "core/ids.h"

namespace postern::dataplane {

// Whether frames that XDP redirects to the interface arrive, as things stand: a veth takes them only while
// its peer can. None: the kernel is older, or does not tell.
std::optional<bool> takes_redirects(IfIndex ifindex);

}  // namespace postern::dataplane
