// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "dataplane/link_fitness.h"
#include "dataplane/netdev.h"
#include "dataplane/nic_settings.h"
#include "dataplane/xdp_features.h"
#include "support/fresh_netns.h"

namespace postern::dataplane {
namespace {

using testing::FreshNetns;

std::unique_ptr<Netdev> open_netdev() {
  Result<std::unique_ptr<Netdev>> netdev = Netdev::open();
  REQUIRE_MESSAGE(netdev, (netdev ? "" : netdev.error().message()));
  return std::move(*netdev);
}

IpAddress ip(std::string_view text) {
  return IpAddress::parse(text).value();
}

// A named namespace that holds the far end of a wire.
struct FarNetns {
  std::string name = "postern-far-" + std::to_string(::getpid());
  explicit FarNetns(const FreshNetns& netns) : netns_(netns) { netns_.run("ip netns add " + name); }
  ~FarNetns() { netns_.try_run("ip netns del " + name); }
  FarNetns(const FarNetns&) = delete;
  FarNetns& operator=(const FarNetns&) = delete;

 private:
  const FreshNetns& netns_;
};

bool eventually(const FreshNetns& netns, const std::string& command) {
  for (int i = 0; i < 100; ++i) {
    if (netns.try_run(command)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  return false;
}

char first_char(const char* path) {
  return static_cast<char>(std::ifstream(path).get());
}

}  // namespace

TEST_CASE("a link is told with its state, MTU, MAC, kind and addresses") {
  const FreshNetns netns;
  netns.add_veth("up0", "far0");
  netns.run("ip link set up0 mtu 1400 address 02:00:00:00:00:07");
  netns.run("ip addr add 192.0.2.1/24 dev up0");
  netns.run("ip addr add 2001:db8::1/64 dev up0 nodad");
  netns.run("ip addr add 198.51.100.1/24 dev far0");
  const auto netdev = open_netdev();
  const Result<Link> link = netdev->link("up0");
  REQUIRE_MESSAGE(link, (link ? "" : link.error().message()));
  CHECK(link->name == "up0");
  CHECK(link->ifindex == IfIndex(::if_nametoindex("up0")));
  CHECK(link->mtu == 1400);
  CHECK(link->up);
  CHECK(link->kind == "veth");
  CHECK(link->mac.text() == "02:00:00:00:00:07");
  const auto has = [&](std::string_view text) {
    return std::count(link->addresses.begin(), link->addresses.end(), ip(text)) == 1;
  };
  CHECK(has("192.0.2.1"));
  CHECK(has("2001:db8::1"));
  CHECK_FALSE(has("198.51.100.1"));
  netns.run("ip link set up0 down");
  CHECK_FALSE(netdev->link("up0")->up);
}

TEST_CASE("an interface that is not there is refused with those that are") {
  const FreshNetns netns;
  netns.add_veth("up0", "far0");
  const auto netdev = open_netdev();
  for (const char* name : {"up1", "a-name-that-no-interface-can-have"}) {
    const Result<Link> link = netdev->link(name);
    REQUIRE_FALSE(link);
    CHECK(link.error().code == errc::interface_missing);
    CHECK(link.error().context.find("far0, lo, up0") != std::string::npos);
  }
}

TEST_CASE("what real interfaces are and belong to decides whether they can serve") {
  const FreshNetns netns;
  netns.add_veth("up0", "far0");
  netns.add_veth("in0", "far1");
  netns.run("ip link add mac0 link up0 type macvlan");
  netns.run("ip tuntap add mode tun name tun0");
  netns.run("ip tuntap add mode tap name tap0");
  netns.run("ip link add vx0 type vxlan id 5 dstport 4789");
  netns.run("ip link add br0 type bridge");
  netns.run("ip link set in0 master br0");
  const auto netdev = open_netdev();
  const auto fit = [&](const char* name) {
    const Result<Link> link = netdev->link(name);
    REQUIRE_MESSAGE(link, (link ? "" : link.error().message()));
    const Result<> judged = check_fit(*link, config::Role::local);
    if (!judged) CHECK(judged.error().code == errc::interface_refused);
    return judged ? std::string("fit") : judged.error().context;
  };
  CHECK(fit("up0") == "fit");
  CHECK(fit("tap0") == "fit");
  CHECK(fit("mac0").find("is a macvlan") != std::string::npos);
  CHECK(fit("tun0").find("carries no Ethernet frames") != std::string::npos);
  CHECK(fit("lo").find("carries no Ethernet frames") != std::string::npos);
  CHECK(fit("vx0").find("is a vxlan") != std::string::npos);
  CHECK(fit("br0").find("is a bridge") != std::string::npos);
  CHECK(fit("in0").find("is a port of the bridge br0") != std::string::npos);
  netns.run("ip link set in0 nomaster");
  CHECK(fit("in0") == "fit");
}

TEST_CASE("a veth tells its other end only where that can be seen") {
  const FreshNetns netns;
  const FarNetns far(netns);
  netns.add_veth("up0", "far0");
  const auto netdev = open_netdev();
  CHECK(netdev->link("up0")->peer == "far0");
  netns.run("ip link set far0 netns " + far.name);
  CHECK_FALSE(netdev->link("up0")->peer.has_value());
}

TEST_CASE("a card's settings are read, and its VLAN stripping is switched off once") {
  const FreshNetns netns;
  netns.add_veth("up0", "far0");
  const IfIndex up0(::if_nametoindex("up0"));
  CHECK(read_nic_settings("up0", up0).driver == "veth");
  CHECK(read_nic_settings("up0", up0).vlan_stripping == true);
  CHECK(stop_vlan_stripping("up0").value());
  CHECK(read_nic_settings("up0", up0).vlan_stripping == false);
  CHECK_FALSE(stop_vlan_stripping("up0").value());
  CHECK(read_nic_settings("up0", up0).lro == false);
  CHECK(read_nic_settings("up0", up0).tso == true);
  netns.run("ethtool -K up0 tx off");
  CHECK(read_nic_settings("up0", up0).tso == false);
  CHECK(read_nic_settings("up0", up0).tx_checksums == false);
  CHECK_FALSE(read_nic_settings("up0", up0).ring.has_value());
  CHECK_FALSE(read_nic_settings("up0", up0).spreads_udp4.has_value());
  CHECK(read_nic_settings("gone0", IfIndex(4242)).driver.empty());
}

TEST_CASE("whether redirected frames arrive at a veth is its peer's doing, and the kernel tells") {
  const FreshNetns netns;
  netns.add_veth("up0", "far0");
  const IfIndex up0(::if_nametoindex("up0"));
  if (!takes_redirects(up0)) return;  // Linux before 6.3
  CHECK(takes_redirects(up0) == false);
  netns.run("ethtool -K far0 gro on");
  CHECK(takes_redirects(up0) == true);
  CHECK_FALSE(takes_redirects(IfIndex(4242)).has_value());
}

TEST_CASE("a route leads to the gateway, or to the destination itself when it is on-link") {
  const FreshNetns netns;
  netns.add_veth("up0", "far0");
  netns.run("ip addr add 192.0.2.1/24 dev up0");
  netns.run("ip addr add 2001:db8::1/64 dev up0 nodad");
  netns.run("ip route add 198.51.100.0/24 via 192.0.2.9");
  netns.run("ip route add 2001:db8:1::/64 via 2001:db8::9");
  const auto netdev = open_netdev();
  const IfIndex up0(::if_nametoindex("up0"));
  const auto to = [&](std::string_view destination) {
    const Result<NextHop> hop = netdev->route(ip(destination));
    REQUIRE_MESSAGE(hop, (hop ? "" : hop.error().message()));
    CHECK(hop->ifindex == up0);
    return hop->address;
  };
  CHECK(to("192.0.2.5") == ip("192.0.2.5"));
  CHECK(to("198.51.100.7") == ip("192.0.2.9"));
  CHECK(to("2001:db8::5") == ip("2001:db8::5"));
  CHECK(to("2001:db8:1::7") == ip("2001:db8::9"));
  const Result<NextHop> none = netdev->route(ip("203.0.113.1"));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == errc::netlink);
}

TEST_CASE("a wanted neighbour becomes known without any traffic to it") {
  const FreshNetns netns;
  const FarNetns far(netns);
  netns.add_veth("up0", "far0");
  netns.run("ip link set far0 netns " + far.name);
  netns.run("ip -n " + far.name + " addr add 192.0.2.2/24 dev far0");
  netns.run("ip -n " + far.name + " addr add 2001:db8::2/64 dev far0 nodad");
  netns.run("ip -n " + far.name + " link set far0 up");
  netns.run("ip addr add 192.0.2.1/24 dev up0");
  netns.run("ip addr add 2001:db8::1/64 dev up0 nodad");
  const auto netdev = open_netdev();
  const IfIndex up0(::if_nametoindex("up0"));
  CHECK_FALSE(netns.try_run("ip neigh show nud reachable | grep -q 192.0.2.2"));
  REQUIRE(netdev->want_neighbour(up0, ip("192.0.2.2")));
  REQUIRE(netdev->want_neighbour(up0, ip("2001:db8::2")));
  CHECK(eventually(netns, "ip neigh show nud reachable | grep -q 192.0.2.2"));
  CHECK(eventually(netns, "ip neigh show nud reachable | grep -q 2001:db8::2"));
  // Nor does asking again disturb what is known.
  REQUIRE(netdev->want_neighbour(up0, ip("192.0.2.2")));
  CHECK(netns.try_run("ip neigh show nud reachable | grep -q 192.0.2.2"));
}

TEST_CASE("a neighbour cannot be wanted on an interface that is gone") {
  const FreshNetns netns;
  const Result<> refused = open_netdev()->want_neighbour(IfIndex(4242), ip("192.0.2.2"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::netlink);
}

TEST_CASE("changed links and addresses are told by name, others are not") {
  const FreshNetns netns;
  netns.add_veth("up0", "far0");
  netns.add_veth("in0", "far1");
  const auto netdev = open_netdev();
  REQUIRE(netdev->drain());
  const auto readable = [&] {
    pollfd watched{netdev->watch_fd(), POLLIN, 0};
    return ::poll(&watched, 1, 2000) == 1;
  };
  CHECK(netdev->drain()->empty());
  netns.run("ip link set in0 mtu 1300");
  CHECK(readable());
  CHECK(*netdev->drain() == std::vector<std::string>{"in0"});
  netns.run("ip addr add 192.0.2.1/24 dev up0");
  CHECK(readable());
  CHECK(*netdev->drain() == std::vector<std::string>{"up0"});
  netns.run("ip link del in0");
  CHECK(readable());
  const auto gone = netdev->drain();
  REQUIRE(gone);
  CHECK(std::count(gone->begin(), gone->end(), "in0") == 1);
}

TEST_CASE("forwarding is turned on for both families") {
  const FreshNetns netns;
  netns.run("sysctl -w net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0");
  REQUIRE(enable_forwarding());
  CHECK(first_char("/proc/sys/net/ipv4/ip_forward") == '1');
  CHECK(first_char("/proc/sys/net/ipv6/conf/all/forwarding") == '1');
  REQUIRE(enable_forwarding());
}

}  // namespace postern::dataplane
