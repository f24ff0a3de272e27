// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "dataplane/netdev.h"
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

TEST_CASE("kinds that cannot take redirected frames are refused with what to do instead") {
  const FreshNetns netns;
  netns.add_veth("up0", "far0");
  netns.run("ip link add bad0 link up0 type macvlan");
  netns.run("ip tuntap add mode tun name bad1");
  netns.run("ip link add bad2 type vxlan id 5 dstport 4789");
  const auto netdev = open_netdev();
  for (const char* name : {"bad0", "bad1", "bad2"}) {
    const Result<Link> link = netdev->link(name);
    REQUIRE_FALSE(link);
    CHECK(link.error().code == errc::interface_refused);
    CHECK(link.error().context.find("; configure the") != std::string::npos);
  }
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
