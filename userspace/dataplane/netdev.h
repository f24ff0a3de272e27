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

// Of a VLAN's device: its tag, and the device below, by which its frames come and go.
struct VlanLink {
  std::uint16_t id = 0;
  bool customer = true;  // 802.1Q, not 802.1ad
  IfIndex carrier_ifindex;
  std::string carrier;  // "" when it is in another network namespace
};

struct Link {
  std::string name;
  IfIndex ifindex;
  std::uint32_t mtu = 0;
  bool up = false;
  std::string kind;  // "veth", "vxlan", "" for a plain device
  bool ethernet = true;
  MacAddress mac;
  std::optional<std::string> master;  // the bridge, bond or VRF that it belongs to
  std::string master_kind;
  std::optional<VlanLink> vlan;
  std::optional<std::string> peer;  // a veth's other end, if it is in this network namespace
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

  // errc::interface_missing lists the interfaces that do exist. Whether it can serve says link_fitness.h.
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
