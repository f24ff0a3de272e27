// SPDX-License-Identifier: Apache-2.0
// The kernel's links, addresses, routes and neighbours, by netlink. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/ip.h"
#include "core/result.h"
#include "dataplane/errors.h"

namespace postern::dataplane {

struct Link {
  std::string name;
  IfIndex ifindex;
  std::uint32_t mtu = 0;
  bool up = false;
  std::string kind;  // "veth", "vxlan", "" for a plain device
  MacAddress mac;
  std::vector<IpAddress> addresses;
};

// Where the kernel would send a packet for an address.
struct NextHop {
  IfIndex ifindex;
  IpAddress address;      // a gateway's, or the destination itself when it is on-link
  std::uint32_t mtu = 0;  // the route's own that XDP's lookup obeys (IPv4: a locked one), 0: none
};

class Netdev {
 public:
  static Result<std::unique_ptr<Netdev>> open();
  virtual ~Netdev() = default;

  // errc::interface_missing lists the interfaces that do exist. errc::interface_refused: kinds that cannot
  // take redirected frames (bridge, tun), naming the alternative.
  virtual Result<Link> link(const std::string& name) = 0;
  virtual Result<NextHop> route(const IpAddress& destination) = 0;
  // Has the kernel resolve or confirm the neighbour; returns at once.
  virtual Result<> want_neighbour(IfIndex ifindex, const IpAddress& address) = 0;

  // Readable when links or addresses may have changed; then call drain(), which returns the names of changed
  // links.
  virtual int watch_fd() const = 0;
  virtual Result<std::vector<std::string>> drain() = 0;
};

// /proc/sys/net forwarding of IPv4 and IPv6, on which the kernel's FIB lookup for XDP depends.
Result<> enable_forwarding();

}  // namespace postern::dataplane
