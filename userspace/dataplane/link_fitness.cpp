// SPDX-License-Identifier: Apache-2.0
#include "dataplane/link_fitness.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "dataplane/errors.h"

namespace postern::dataplane {
namespace {

struct Verdict {
  std::string_view kind;
  std::string_view why;
  std::string_view instead;
};

constexpr std::string_view kNoRedirects = "which cannot take frames that XDP redirects";
constexpr std::string_view kDeviceBelow = "configure the device below it";
constexpr std::string_view kLeavesBy = "configure the device that its packets leave by";
constexpr std::string_view kMembers = "whose frames XDP sees on its members, which no route names";
constexpr std::string_view kApart =
    "take it apart and configure its members; routes of equal cost, and several underlay addresses of a "
    "gateway, use them both";

constexpr Verdict kUnfit[] = {
    {"bridge", kNoRedirects,
     "put one end of a veth pair into it, give the bridge's addresses to the other end and configure that"},
    {"bond", kMembers, kApart},
    {"team", kMembers, kApart},
    {"macvlan", kNoRedirects, kDeviceBelow},
    {"macvtap", kNoRedirects, kDeviceBelow},
    {"ipvlan", kNoRedirects, kDeviceBelow},
    {"vrf", "which is a table of routes and no device",
     "run the gateway in a network namespace of its own, with the VRF's interfaces in it"},
    {"dummy", "which leads nowhere", "configure an interface that leads to somebody"},
    {"ifb", "which leads nowhere", "configure an interface that leads to somebody"},
    {"vxlan", kNoRedirects, kLeavesBy},
    {"geneve", kNoRedirects, kLeavesBy},
    {"gretap", kNoRedirects, kLeavesBy},
    {"ip6gretap", kNoRedirects, kLeavesBy},
    {"erspan", kNoRedirects, kLeavesBy},
    {"macsec", kNoRedirects, kDeviceBelow},
};

tl::unexpected<Error> refused(const Link& link, std::string_view why, std::string_view instead) {
  return fail(errc::interface_refused,
              "interface " + link.name + " " + std::string(why) + "; " + std::string(instead));
}

Result<> check_master(const Link& link) {
  const std::string of = link.master_kind + " " + *link.master;
  if (link.master_kind == "bond" || link.master_kind == "team") {
    return refused(link, "is a member of the " + of + ", and routes name that one",
                   "release it (ip link set " + link.name + " nomaster) and give it addresses of its own");
  }
  if (link.master_kind == "vrf") {
    return refused(link, "is in the " + of + ", whose routes the gateway's other interfaces do not see",
                   "run the gateway in a network namespace of its own instead of the VRF");
  }
  return refused(link, "is a port of the " + of + ", and routes name that one",
                 "release it (ip link set " + link.name +
                     " nomaster), or put one end of a veth pair there and configure the other end");
}

Result<> check_vlan(const Link& link, config::Role role) {
  if (role == config::Role::underlay) {
    return refused(link, "is a VLAN, and tunnel packets come and go without a tag",
                   "have the switch hand over that VLAN untagged and configure the device below");
  }
  if (!link.vlan->customer) {
    return refused(link, "has tags of 802.1ad, and Postern knows those of 802.1Q",
                   "make it with `protocol 802.1Q`");
  }
  if (link.vlan->id == 0) {
    return refused(link, "has the VLAN id 0, which means none", "configure the device below it");
  }
  if (!link.vlan->carrier.empty()) return {};
  return refused(link, "is a VLAN of a device in another network namespace",
                 "bring the device below it into this namespace");
}

}  // namespace

Result<> check_fit(const Link& link, config::Role role) {
  const auto* const unfit = std::find_if(std::begin(kUnfit), std::end(kUnfit),
                                         [&](const Verdict& verdict) { return verdict.kind == link.kind; });
  if (unfit != std::end(kUnfit))
    return refused(link, "is a " + link.kind + ", " + std::string(unfit->why), unfit->instead);
  if (!link.ethernet) {
    return refused(link,
                   "carries no Ethernet frames" + (link.kind.empty() ? "" : " (it is a " + link.kind + ")"),
                   "configure the interface below the tunnel");
  }
  if (link.master) return check_master(link);
  return link.vlan ? check_vlan(link, role) : Result<>();
}

Result<> check_carrier(const Link& carrier, const Link& vlan) {
  if (carrier.vlan) {
    return refused(vlan, "is a VLAN inside of the VLAN " + carrier.name + ", and frames may have one tag",
                   "have the switch hand over the outer VLAN untagged");
  }
  Result<> fit = check_fit(carrier, config::Role::local);
  if (fit) return fit;
  return fail(fit.error().code,
              "interface " + vlan.name + " is a VLAN of " + carrier.name + ", but " + fit.error().context);
}

}  // namespace postern::dataplane
