// SPDX-License-Identifier: Apache-2.0
#include "dataplane/nic_settings.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "core/unique_fd.h"
#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"
#include "dataplane/xdp_features.h"

namespace postern::dataplane {
namespace {

constexpr __u64 kAddressesAndPorts = RXH_IP_SRC | RXH_IP_DST | RXH_L4_B_0_1 | RXH_L4_B_2_3;

class Ethtool {
 public:
  explicit Ethtool(const std::string& name) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    name.copy(request_.ifr_name, IFNAMSIZ - 1);
  }

  // 0, or the kernel's errno. `order` is one of ethtool's structures, its command set.
  template <class Order>
  int ask(Order& order) {
    request_.ifr_data = reinterpret_cast<char*>(&order);
    return ::ioctl(socket_.get(), SIOCETHTOOL, &request_) == 0 ? 0 : errno;
  }

  std::optional<__u32> value(__u32 command) {
    ethtool_value order{command, 0};
    return ask(order) == 0 ? std::optional(order.data) : std::nullopt;
  }

 private:
  UniqueFd socket_;
  ifreq request_{};
};

std::optional<bool> flag(const std::optional<__u32>& flags, __u32 which) {
  return flags ? std::optional((*flags & which) != 0) : std::nullopt;
}

std::optional<bool> switched(Ethtool& ethtool, __u32 command) {
  return flag(ethtool.value(command), 1);
}

std::optional<NicAmount> queues_of(Ethtool& ethtool) {
  ethtool_channels order{};
  order.cmd = ETHTOOL_GCHANNELS;
  if (ethtool.ask(order) != 0) return std::nullopt;
  const NicAmount out{order.rx_count + order.combined_count, std::max(order.max_rx, order.max_combined)};
  return out.most == 0 ? std::nullopt : std::optional(out);
}

std::optional<NicAmount> ring_of(Ethtool& ethtool) {
  ethtool_ringparam order{};
  order.cmd = ETHTOOL_GRINGPARAM;
  if (ethtool.ask(order) != 0 || order.rx_max_pending == 0) return std::nullopt;
  return NicAmount{order.rx_pending, order.rx_max_pending};
}

std::optional<bool> spreads(Ethtool& ethtool, __u32 flow_type) {
  ethtool_rxnfc order{};
  order.cmd = ETHTOOL_GRXFH;
  order.flow_type = flow_type;
  if (ethtool.ask(order) != 0) return std::nullopt;
  return (order.data & kAddressesAndPorts) == kAddressesAndPorts;
}

std::string driver_of(Ethtool& ethtool) {
  ethtool_drvinfo order{};
  order.cmd = ETHTOOL_GDRVINFO;
  if (ethtool.ask(order) != 0) return {};
  return {order.driver, std::find(std::begin(order.driver), std::end(order.driver), '\0')};
}

}  // namespace

NicSettings read_nic_settings(const std::string& name, IfIndex ifindex) {
  Ethtool ethtool(name);
  NicSettings out;
  out.driver = driver_of(ethtool);
  out.takes_redirects = takes_redirects(ifindex);
  const std::optional<__u32> flags = ethtool.value(ETHTOOL_GFLAGS);
  out.vlan_stripping = flag(flags, ETH_FLAG_RXVLAN);
  out.vlan_insertion = flag(flags, ETH_FLAG_TXVLAN);
  out.lro = flag(flags, ETH_FLAG_LRO);
  out.tso = switched(ethtool, ETHTOOL_GTSO);
  out.tx_checksums = switched(ethtool, ETHTOOL_GTXCSUM);
  out.queues = queues_of(ethtool);
  out.ring = ring_of(ethtool);
  out.spreads_udp4 = spreads(ethtool, UDP_V4_FLOW);
  out.spreads_udp6 = spreads(ethtool, UDP_V6_FLOW);
  return out;
}

Result<bool> stop_vlan_stripping(const std::string& name) {
  Ethtool ethtool(name);
  const std::optional<__u32> flags = ethtool.value(ETHTOOL_GFLAGS);
  if (!flags || (*flags & ETH_FLAG_RXVLAN) == 0) return false;
  ethtool_value order{ETHTOOL_SFLAGS, *flags & ~static_cast<__u32>(ETH_FLAG_RXVLAN)};
  const int error = ethtool.ask(order);
  const std::optional<__u32> after = ethtool.value(ETHTOOL_GFLAGS);
  if (error == 0 && after && (*after & ETH_FLAG_RXVLAN) == 0) return true;
  return kernel_error(
      errc::interface_refused,
      "interface " + name +
          " takes VLAN tags off before XDP sees the frame (rx-vlan-offload), so that its VLANs would be one, "
          "and that cannot be switched off; use a card that leaves tags alone",
      error == 0 ? EOPNOTSUPP : error);
}

}  // namespace postern::dataplane
