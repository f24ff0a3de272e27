// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "dataplane/backstop.h"
#include "support/fresh_netns.h"

namespace postern::dataplane {
namespace {

using testing::FreshNetns;

const BackstopRules kRules{"postern-mesh-east", {"up0", "up1"}, {"in0"}};

bool intact(const BackstopRules& rules = kRules) {
  const Result<bool> out = backstop_intact(rules);
  REQUIRE_MESSAGE(out, (out ? "" : out.error().message()));
  return *out;
}

void install(const BackstopRules& rules = kRules) {
  const Result<> done = install_backstop(rules);
  REQUIRE_MESSAGE(done, (done ? "" : done.error().message()));
}

}  // namespace

TEST_CASE("the backstop is intact once it is installed, and as often as it is") {
  const FreshNetns netns;
  CHECK_FALSE(intact());
  install();
  CHECK(intact());
  install();
  CHECK(intact());
  CHECK(netns.try_run("test $(nft list table inet postern-mesh-east | grep -c counter) = 3"));
}

TEST_CASE("one interface of each role is enough, and names come in any order") {
  const FreshNetns netns;
  install({"postern-m-g", {"up0"}, {"in0"}});
  CHECK(intact({"postern-m-g", {"up0"}, {"in0"}}));
  install({"postern-m-g", {"up1", "up0"}, {"in0", "a"}});
  CHECK(intact({"postern-m-g", {"up0", "up1"}, {"a", "in0"}}));
}

TEST_CASE("with a host port the rules for it are there and are looked for") {
  const FreshNetns netns;
  const BackstopRules rules{"postern-m-g", {"up0"}, {"in0"}, {"pt0", "pt1"}, 4790};
  install(rules);
  CHECK(intact(rules));
  CHECK_FALSE(intact({"postern-m-g", {"up0"}, {"in0"}, {"pt0"}, 4790}));
  CHECK_FALSE(intact({"postern-m-g", {"up0"}, {"in0"}, {"pt0", "pt1"}, 4789}));
  CHECK_FALSE(intact({"postern-m-g", {"up0"}, {"in0"}}));
}

TEST_CASE("a backstop for other interfaces is not intact") {
  const FreshNetns netns;
  install();
  CHECK_FALSE(intact({kRules.table, {"up0"}, {"in0"}}));
  CHECK_FALSE(intact({kRules.table, {"up0", "up1"}, {"in1"}}));
  CHECK_FALSE(intact({"postern-mesh-west", kRules.underlay, kRules.local}));
}

TEST_CASE("a backstop that somebody changed is not intact") {
  const FreshNetns netns;
  install();
  SUBCASE("emptied") {
    netns.run("nft flush table inet postern-mesh-east");
  }
  SUBCASE("a rule before ours") {
    netns.run("nft insert rule inet postern-mesh-east forward accept");
  }
  SUBCASE("a rule fewer") {
    netns.run(
        "nft delete rule inet postern-mesh-east forward handle "
        "$(nft -a list table inet postern-mesh-east | sed -n 's/.*drop # handle //p' | head -1)");
  }
  SUBCASE("asleep") {
    netns.run("nft add table inet postern-mesh-east '{ flags dormant; }'");
  }
  SUBCASE("deleted") {
    netns.run("nft delete table inet postern-mesh-east");
  }
  CHECK_FALSE(intact());
  install();
  CHECK(intact());
}

TEST_CASE("a backstop without interfaces or with names that could say more is refused") {
  const FreshNetns netns;
  for (const BackstopRules& bad :
       {BackstopRules{"t", {}, {"in0"}}, BackstopRules{"t", {"up0"}, {}},
        BackstopRules{"t", {"up*"}, {"in0"}}, BackstopRules{"t", {"up\""}, {"in0"}},
        BackstopRules{"t;", {"up0"}, {"in0"}}}) {
    const Result<> refused = install_backstop(bad);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == errc::backstop);
  }
}

TEST_CASE("with forwarding on, the kernel routes nothing between underlay and site, nor back out") {
  const FreshNetns netns;
  netns.add_veth("up0", "far0");
  netns.add_veth("in0", "far1");
  netns.run("ip link set up0 address 02:00:00:00:00:01");
  netns.run("ip addr add 192.0.2.1/24 dev up0");
  netns.run("ip addr add 10.1.0.1/24 dev in0");
  netns.run("sysctl -w net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.up0.rp_filter=0");
  install({"postern-mesh-east", {"up0"}, {"in0"}});
  // The far ends send raw frames: a packet from 192.0.2.9 for 10.1.0.9, and one for 192.0.2.77 by way of us.
  const std::string send =
      "python3 -c \"import socket,sys;"
      "s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW);s.bind(('far0',0));"
      "mac=bytes.fromhex('020000000001');"
      "h=bytes.fromhex('4500001c000000004011')+b'\\0\\0'+socket.inet_aton('192.0.2.9')+socket.inet_aton(sys."
      "argv[1]);"
      "c=sum(int.from_bytes(h[i:i+2],'big') for i in range(0,20,2));c=(c&65535)+(c>>16);c=(c&65535)+(c>>16);"
      "h=h[:10]+(c^65535).to_bytes(2,'big')+h[12:];"
      "s.send(mac+mac+b'\\x08\\0'+h+bytes.fromhex('1234123400080000'))\" ";
  netns.run("ip neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev in0");
  netns.run("ip neigh add 192.0.2.77 lladdr 02:00:00:00:00:09 dev up0");
  netns.run(send + "10.1.0.9");
  netns.run(send + "192.0.2.77");
  const std::string list = "nft list table inet postern-mesh-east | grep 'packets 1 ' | ";
  CHECK(netns.try_run(list + "grep -q 'oifname \"in0\"'"));
  CHECK(netns.try_run(list + "grep -q 'iifname \"up0\" oifname \"up0\"'"));
}

}  // namespace postern::dataplane
