// SPDX-License-Identifier: Apache-2.0
#include "dataplane/link_fitness.h"

#include <doctest/doctest.h>

#include "dataplane/errors.h"

namespace postern::dataplane {
namespace {

using config::Role;

Link device(std::string kind = "") {
  Link link;
  link.name = "eth1";
  link.kind = std::move(kind);
  return link;
}

Link vlan(std::uint16_t id = 30) {
  Link link = device("vlan");
  link.name = "eth1.30";
  link.vlan = VlanLink{id, true, IfIndex(3), "eth1"};
  return link;
}

Link member_of(std::string kind, std::string name) {
  Link link = device();
  link.master = std::move(name);
  link.master_kind = std::move(kind);
  return link;
}

std::string text_of(const Result<>& judged) {
  if (judged) return "fit";
  CHECK(judged.error().code == errc::interface_refused);
  return judged.error().context;
}

bool says(const Result<>& judged, std::string_view reason, std::string_view instead) {
  const std::string text = text_of(judged);
  INFO(text);
  const std::size_t split = text.find("; ");
  return split != std::string::npos && text.find(reason) < split &&
         text.find(instead, split) != std::string::npos;
}

}  // namespace

TEST_CASE("devices with a driver of their own serve, VLANs of them the site") {
  for (const char* kind : {"", "veth", "tun"})
    for (const Role role : {Role::underlay, Role::local})
      CHECK(text_of(check_fit(device(kind), role)) == "fit");
  CHECK(text_of(check_fit(vlan(), Role::local)) == "fit");
  CHECK(text_of(check_carrier(device(), vlan())) == "fit");
}

TEST_CASE("each kind that cannot serve is refused with the reason and what to do instead") {
  CHECK(says(check_fit(device("bridge"), Role::local),
             "is a bridge, which cannot take frames that XDP redirects",
             "put one end of a veth pair into it"));
  CHECK(says(check_fit(device("bond"), Role::underlay), "is a bond, whose frames XDP sees on its members",
             "take it apart and configure its members"));
  CHECK(says(check_fit(device("team"), Role::underlay), "is a team", "take it apart"));
  for (const char* kind : {"macvlan", "macvtap", "ipvlan", "macsec"})
    CHECK(says(check_fit(device(kind), Role::local), std::string("is a ") + kind,
               "configure the device below it"));
  for (const char* kind : {"vxlan", "geneve", "gretap", "ip6gretap", "erspan"})
    CHECK(says(check_fit(device(kind), Role::local), kind, "configure the device that its packets leave by"));
  CHECK(says(check_fit(device("vrf"), Role::local), "is a table of routes", "network namespace of its own"));
  for (const char* kind : {"dummy", "ifb"})
    CHECK(says(check_fit(device(kind), Role::local), "leads nowhere", "configure an interface"));
  Link tun = device("wireguard");
  tun.ethernet = false;
  CHECK(says(check_fit(tun, Role::underlay), "carries no Ethernet frames (it is a wireguard)",
             "below the tunnel"));
  tun.kind.clear();
  CHECK(says(check_fit(tun, Role::underlay), "carries no Ethernet frames", "below the tunnel"));
}

TEST_CASE("what belongs to another device is refused, naming that one") {
  CHECK(says(check_fit(member_of("bridge", "br0"), Role::local), "is a port of the bridge br0",
             "nomaster), or put one end of a veth pair there"));
  CHECK(says(check_fit(member_of("openvswitch", "ovs-system"), Role::local), "openvswitch ovs-system",
             "one end of a veth pair"));
  CHECK(says(check_fit(member_of("bond", "bond0"), Role::underlay), "is a member of the bond bond0",
             "release it (ip link set eth1 nomaster)"));
  CHECK(says(check_fit(member_of("team", "team0"), Role::underlay), "is a member of the team team0",
             "release it"));
  CHECK(says(check_fit(member_of("vrf", "red"), Role::local), "is in the vrf red", "in a network namespace"));
}

TEST_CASE("a VLAN is refused where its tag could not be followed") {
  CHECK(says(check_fit(vlan(), Role::underlay), "tunnel packets come and go without a tag", "untagged"));
  Link provider = vlan();
  provider.vlan->customer = false;
  CHECK(says(check_fit(provider, Role::local), "802.1ad", "make it with `protocol 802.1Q`"));
  CHECK(says(check_fit(vlan(0), Role::local), "VLAN id 0", "configure the device below it"));
  Link elsewhere = vlan();
  elsewhere.vlan->carrier.clear();
  CHECK(says(check_fit(elsewhere, Role::local), "another network namespace", "into this namespace"));
}

TEST_CASE("a VLAN is only as good as the device below it") {
  CHECK(says(check_carrier(vlan(20), vlan()), "is a VLAN inside of the VLAN", "outer VLAN untagged"));
  CHECK(says(check_carrier(device("bond"), vlan()), "eth1.30 is a VLAN of eth1, but interface eth1 is a bond",
             "take it apart"));
  CHECK(says(check_carrier(member_of("bridge", "br0"), vlan()), "is a port of the bridge br0", "nomaster"));
}

}  // namespace postern::dataplane
