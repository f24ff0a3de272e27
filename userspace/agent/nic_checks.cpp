// SPDX-License-Identifier: Apache-2.0
#include "agent/nic_checks.h"

#include <algorithm>

namespace postern::agent {
namespace {

using wire::check_fail;
using wire::check_ok;
using wire::check_warn;
using Checks = std::vector<wire::Check>;

constexpr std::uint32_t kEnoughDescriptors = 512;

class Judge {
 public:
  explicit Judge(const NicFacts& facts) : nic_(facts), is_(facts.settings) {}

  Checks all() {
    redirects();
    vlan_stripping();
    lro();
    far_end();
    if (virtual_device()) return std::move(checks_);  // nothing below is hardware's
    queues();
    ring();
    if (nic_.role == config::Role::underlay) spread();
    if (!unknown_.empty()) {
      add(check_ok(name("unknown"), "driver " + (is_.driver.empty() ? "without a name" : is_.driver) +
                                        " does not tell of: " + unknown_));
    }
    return std::move(checks_);
  }

 private:
  std::string name(std::string_view what) const { return "nic." + nic_.name + "." + std::string(what); }
  std::string ethtool(const std::string& change, const std::string& device) const {
    return "`ethtool " + change.substr(0, 2) + " " + device + change.substr(2) + "`";
  }
  bool virtual_device() const { return nic_.kind == "veth" || nic_.kind == "tun"; }
  void add(wire::Check check) { checks_.push_back(std::move(check)); }
  void not_told(std::string_view what) { unknown_ += (unknown_.empty() ? "" : ", ") + std::string(what); }

  void redirects() {
    if (!nic_.native) return;  // the generic mode sends as the kernel does
    if (!is_.takes_redirects) {
      return add(
          check_ok(name("redirect"), "this kernel does not tell whether frames that XDP redirects arrive"));
    }
    if (*is_.takes_redirects)
      return add(check_ok(name("redirect"), "takes the frames that XDP redirects to it, as expected"));
    if (nic_.kind == "veth") {
      return add(
          check_fail(name("redirect"),
                     "frames that XDP redirects to it vanish: its peer has neither GRO nor an XDP program, "
                     "expected is one of them",
                     ethtool("-K gro on", nic_.peer.value_or("PEER")) + " at its other end"));
    }
    add(check_fail(name("redirect"),
                   "driver " + is_.driver +
                       " does not take frames that XDP redirects, as things stand; expected is "
                       "that it does",
                   "some drivers need an XDP program or enough queues for it; use another card otherwise"));
  }

  void vlan_stripping() {
    if (nic_.role != config::Role::local) return;
    if (!is_.vlan_stripping.value_or(false))
      return add(check_ok(name("vlan_stripping"), "VLAN tags are left for XDP to see, as expected"));
    add(check_fail(name("vlan_stripping"),
                   "VLAN tags are taken off before XDP sees the frame, so that all VLANs are one segment's; "
                   "expected is rx-vlan-offload off",
                   ethtool("-K rxvlan off", nic_.name) + "; `postern reload` does it as well"));
  }

  void lro() {
    if (!is_.lro) return not_told("LRO");
    if (!*is_.lro) return add(check_ok(name("lro"), "off, as expected"));
    add(check_fail(name("lro"), "on: packets are merged into larger ones that fit no tunnel; expected is off",
                   ethtool("-K lro off", nic_.name)));
  }

  // What sends into our end of a virtual wire.
  void far_end() {
    if (nic_.kind == "tun") {
      if (!is_.tso.value_or(false))
        return add(check_ok(name("far_end"), "segments are not left for later (TSO off), as expected"));
      return add(check_warn(
          name("far_end"),
          "whoever is at the other end of this tap sends segments larger than the MTU, expected is "
          "TSO off",
          "turn off the guest's offloads (host_tso4=off, csum=off at its network card)"));
    }
    if (nic_.kind != "veth") return;
    if (!nic_.peer) {
      return add(check_ok(
          name("far_end"),
          "its peer is in another network namespace and not to be seen; expected there: GRO on, tx off" +
              std::string(nic_.vlans ? ", txvlan off" : "")));
    }
    const dataplane::NicSettings& far = nic_.peer_settings;
    if (nic_.vlans && far.vlan_insertion.value_or(false)) {
      return add(check_fail(name("far_end"),
                            "its peer " + *nic_.peer +
                                " sends VLAN tags beside the frame, where XDP does not see "
                                "them; expected is tx-vlan-offload off",
                            ethtool("-K txvlan off", *nic_.peer)));
    }
    if (!far.tso.value_or(false) && !far.tx_checksums.value_or(false))
      return add(check_ok(name("far_end"), "its peer " + *nic_.peer + " sends whole packets, as expected"));
    add(check_warn(name("far_end"),
                   "its peer " + *nic_.peer + " leaves checksums" +
                       (far.tso.value_or(false) ? " and segments" : "") +
                       " unfinished, which XDP does not finish; expected is tx off",
                   ethtool("-K tx off", *nic_.peer)));
  }

  void queues() {
    if (!is_.queues) return not_told("queues");
    const auto [now, most] = *is_.queues;
    const std::uint32_t wanted = std::min<std::uint32_t>(nic_.cpus, most);
    const std::string found = std::to_string(now) + " receive queues of at most " + std::to_string(most) +
                              " for " + std::to_string(nic_.cpus) + " CPUs";
    if (now >= wanted) return add(check_ok(name("queues"), found));
    add(check_warn(name("queues"), found + ": CPUs are left idle; expected are " + std::to_string(wanted),
                   ethtool("-L combined " + std::to_string(wanted), nic_.name)));
  }

  void ring() {
    if (!is_.ring) return not_told("rings");
    const auto [now, most] = *is_.ring;
    const std::uint32_t wanted = std::min(kEnoughDescriptors, most);
    const std::string found = std::to_string(now) + " receive descriptors of at most " + std::to_string(most);
    if (now >= wanted) return add(check_ok(name("ring"), found));
    add(check_warn(
        name("ring"),
        found + ": bursts are lost in the card; expected are " + std::to_string(wanted) + " or more",
        ethtool("-G rx " + std::to_string(wanted), nic_.name)));
  }

  // A peer's packets have one pair of addresses: ports alone spread its flows.
  void spread() {
    const bool one_queue = is_.queues && is_.queues->now == 1;
    for (const auto& [what, spreads] :
         {std::pair{"udp4", is_.spreads_udp4}, std::pair{"udp6", is_.spreads_udp6}}) {
      const std::string row = name(std::string("flow_hash.") + what);
      if (!spreads) {
        not_told(std::string("the flow hash of ") + what);
      } else if (*spreads || one_queue) {
        add(check_ok(row, one_queue ? "one queue, nothing to spread" : "addresses and ports, as expected"));
      } else {
        add(check_warn(
            row,
            "without ports: all that one peer sends lands on one queue; expected are addresses and ports",
            ethtool(std::string("-N rx-flow-hash ") + what + " sdfn", nic_.name)));
      }
    }
  }

  const NicFacts& nic_;
  const dataplane::NicSettings& is_;
  Checks checks_;
  std::string unknown_;
};

}  // namespace

std::vector<wire::Check> judge_nic(const NicFacts& facts) {
  return Judge(facts).all();
}

}  // namespace postern::agent
