// SPDX-License-Identifier: Apache-2.0
// The host port (SPEC 1.15): a veth pair between the kernel's own stack and the packet path, one for each of
// the gateway's local segments. Both ends have one MAC and no ARP, for nobody else is on this wire.
#pragma once

#include <string>
#include <vector>

#include "core/ip.h"
#include "core/result.h"
#include "dataplane/errors.h"

namespace postern::dataplane {

// "pt0", the kernel's end, and "pt0x", where pt_local runs.
std::string host_port_name(std::size_t number);
std::string host_port_far_name(std::size_t number);

// Makes the pair, or takes over the one that an earlier agent left, and sets it up. errc::interface_refused
// when there is an interface of that name that no agent made.
Result<> make_host_port(std::size_t number, std::uint32_t mtu);
// Nothing to do is no error. An interface that no agent made stays.
Result<> remove_host_port(std::size_t number);

struct HostRoute {
  IpPrefix prefix;
  IpAddress source;  // our own address in the segment

  friend auto operator<=>(const HostRoute&, const HostRoute&) = default;
};

// The mesh's prefixes as routes of the kernel out of the host port, for packets of up to `mtu` bytes, and no
// others of ours: those of an earlier agent go. The sources become addresses of the port as well.
Result<> set_host_routes(std::size_t number, const std::vector<HostRoute>& routes, std::uint32_t mtu);

}  // namespace postern::dataplane
