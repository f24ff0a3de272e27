// SPDX-License-Identifier: Apache-2.0
#include "dataplane/announcement.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "core/unique_fd.h"
#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"

namespace postern::dataplane {
namespace {

constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::uint8_t kHopLimit = 255;
constexpr std::uint8_t kAdvertisement = 136;
constexpr std::uint8_t kRouterOverride = 0xa0;
constexpr std::uint8_t kTargetMac = 2;
constexpr std::size_t kAdvertisementBytes = 32;
constexpr std::size_t kMappedBytes = 12;  // before the four of IPv4

constexpr std::array<std::uint8_t, 6> kBroadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr std::array<std::uint8_t, 6> kAllNodesMac{0x33, 0x33, 0, 0, 0, 1};
constexpr std::array<std::uint8_t, 16> kAllNodes{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

template <class Part>
void add(Bytes& frame, const Part& part) {
  frame.insert(frame.end(), std::begin(part), std::end(part));
}
void add16(Bytes& frame, unsigned value) {
  add(frame, std::array{static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)});
}

Bytes arp(const MacAddress& mac, const IpAddress& address) {
  const std::span<const std::uint8_t> ip = std::span(address.bytes).subspan(kMappedBytes);
  Bytes frame;
  add(frame, kBroadcast);
  add(frame, mac.bytes);
  add16(frame, ETHERTYPE_ARP);
  add16(frame, 1);
  add16(frame, ETHERTYPE_IP);
  add(frame, std::array<std::uint8_t, 2>{6, 4});
  add16(frame, 1);
  add(frame, mac.bytes);
  add(frame, ip);
  add(frame, MacAddress{}.bytes);
  add(frame, ip);
  return frame;
}

Bytes advertisement(const MacAddress& mac, const IpAddress& address) {
  Bytes message{kAdvertisement, 0, 0, 0, kRouterOverride, 0, 0, 0};
  add(message, address.bytes);
  add(message, std::array<std::uint8_t, 2>{kTargetMac, 1});
  add(message, mac.bytes);
  Bytes summed;
  add(summed, address.bytes);
  add(summed, kAllNodes);
  add(summed, std::array<std::uint8_t, 8>{0, 0, 0, kAdvertisementBytes, 0, 0, 0, kIcmpv6});
  add(summed, message);
  const std::uint16_t sum = internet_checksum(summed);
  message[2] = static_cast<std::uint8_t>(sum >> 8);
  message[3] = static_cast<std::uint8_t>(sum);

  Bytes frame;
  add(frame, kAllNodesMac);
  add(frame, mac.bytes);
  add16(frame, ETHERTYPE_IPV6);
  add(frame, std::array<std::uint8_t, 8>{0x60, 0, 0, 0, 0, kAdvertisementBytes, kIcmpv6, kHopLimit});
  add(frame, address.bytes);
  add(frame, kAllNodes);
  add(frame, message);
  return frame;
}

}  // namespace

Bytes announcement(const MacAddress& mac, const IpAddress& address) {
  return address.is_v4() ? arp(mac, address) : advertisement(mac, address);
}

Result<> announce(IfIndex ifindex, const MacAddress& mac, const IpAddress& address) {
  const UniqueFd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return kernel_error(errc::netlink, "cannot open a packet socket", errno);
  const Bytes frame = announcement(mac, address);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(address.is_v4() ? ETHERTYPE_ARP : ETHERTYPE_IPV6);
  to.sll_ifindex = static_cast<int>(ifindex.value);
  to.sll_halen = 6;
  std::copy_n(frame.begin(), 6, to.sll_addr);
  const ssize_t sent = ::sendto(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&to), sizeof to);
  if (sent == static_cast<ssize_t>(frame.size())) return {};
  return kernel_error(
      errc::netlink,
      "cannot announce " + address.text() + " on interface number " + std::to_string(ifindex.value), errno);
}

Result<std::set<IpAddress>> configured_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return kernel_error(errc::netlink, "cannot list addresses", errno);
  std::set<IpAddress> out;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    IpAddress address;
    if (each->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 known{};
      std::memcpy(&known, each->ifa_addr, sizeof known);
      std::memcpy(address.bytes.data(), &known.sin6_addr, address.bytes.size());
    } else if (each->ifa_addr->sa_family == AF_INET) {
      sockaddr_in known{};
      std::memcpy(&known, each->ifa_addr, sizeof known);
      address.bytes[10] = address.bytes[11] = 0xff;
      std::memcpy(&address.bytes[kMappedBytes], &known.sin_addr, sizeof known.sin_addr);
    } else {
      continue;
    }
    out.insert(address);
  }
  ::freeifaddrs(list);
  return out;
}

}  // namespace postern::dataplane
