// SPDX-License-Identifier: Apache-2.0
// Which program runs on which interface (SPEC 1.1). Attached through libxdp; a program that is not ours is
// never replaced or detached, and one that is ours already is left as it is.
#pragma once

#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "dataplane/compile.h"
#include "dataplane/plane.h"

namespace postern::dataplane {

enum class XdpMode { none, native, generic };

struct Attachment {
  std::string name;
  IfIndex ifindex;
  XdpMode mode = XdpMode::none;
  bool changed = false;  // attached or replaced just now
};

// Brings the port's program onto its interface and the interface into its role's devmap. Native mode, or
// generic if `allow_generic` and the driver has no native one. A foreign XDP program that cannot run beside
// ours is refused, naming its id.
Result<Attachment> attach(const Plane& plane, const SitePort& port, bool allow_generic);

// The mode in which OUR program runs there now; none when it was detached by hand or a foreign one is there.
Result<XdpMode> attached_mode(const Plane& plane, IfIndex ifindex);

// Takes our program off; leaves any other alone.
Result<> detach(const Plane& plane, IfIndex ifindex);

// Makes the devmaps of both roles hold exactly these ports.
Result<> set_egress(const Plane& plane, const std::vector<SitePort>& ports);

}  // namespace postern::dataplane
