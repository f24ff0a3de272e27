// SPDX-License-Identifier: Apache-2.0
#include "agent/interfaces.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "dataplane/host_port.h"
#include "dataplane/link_fitness.h"
#include "dataplane/nic_settings.h"

namespace postern::agent {
namespace {

dataplane::SitePort site_port(const InterfaceState& state) {
  return {state.configured.name,
          *state.ifindex,
          state.configured.role,
          state.configured.segment,
          state.slot,
          state.mac,
          state.mtu,
          state.host_port.has_value(),
          state.carrier};
}

// A site's interface must show its tags to XDP first, or frames of all its VLANs would be one segment's.
Result<dataplane::Attachment> attach_one(const dataplane::Plane& plane, const InterfaceState& state,
                                         bool allow_generic) {
  if (state.configured.role == config::Role::local && !state.host_port) {
    if (Result<bool> shown = dataplane::stop_vlan_stripping(state.wire); !shown)
      return pass_on(std::move(shown));
  }
  return dataplane::attach(plane, site_port(state), allow_generic);
}

constexpr std::uint32_t kLeastMtu = 1500;
constexpr std::uint32_t kMostMtu = 65535;
constexpr std::uint32_t kTunnelBytes = 70;  // over IPv6

std::optional<IfIndex> wire_of(const InterfaceState& state) {
  return state.carrier ? state.carrier->ifindex : state.ifindex;
}

bool has_wire(const std::vector<InterfaceState>& states, IfIndex ifindex) {
  return std::any_of(states.begin(), states.end(),
                     [&](const InterfaceState& state) { return wire_of(state) == ifindex; });
}

// One program runs on an interface, and each role has its own.
Result<> check_one_role_a_wire(const std::vector<InterfaceState>& states, const std::string& origin) {
  for (const InterfaceState& state : states) {
    const auto other = std::find_if(states.begin(), states.end(), [&](const InterfaceState& candidate) {
      return candidate.wire == state.wire && candidate.configured.role != state.configured.role;
    });
    if (other == states.end() || !state.carrier) continue;
    return fail(dataplane::errc::interface_refused,
                origin + ":" + std::to_string(state.configured.line) + ": interface " +
                    state.configured.name + " is a VLAN of " + state.wire +
                    ", which is an underlay interface; " + std::string(config::kInsteadOfOneArm));
  }
  return {};
}

}  // namespace

std::string backstop_table(const std::string& mesh, const std::string& gateway) {
  return "postern-" + mesh + "-" + gateway;
}

std::string_view role_text(config::Role role) {
  return role == config::Role::underlay ? "underlay" : "local";
}

std::string_view mode_text(dataplane::XdpMode mode) {
  switch (mode) {
    case dataplane::XdpMode::native:
      return "native";
    case dataplane::XdpMode::generic:
      return "generic";
    case dataplane::XdpMode::none:
      break;
  }
  return "none";
}

Result<> Interfaces::configure(const std::vector<config::Interface>& wanted, const std::string& origin) {
  if (Result<> fit = check_wanted(wanted, origin); !fit) return fit;
  const Result<std::vector<config::Interface>> all = with_host_ports(wanted);
  if (!all) return fail(all.error().code, origin + ": " + all.error().context);
  std::vector<std::string> names;
  for (const config::Interface& interface : *all)
    names.push_back(interface.name);
  if (Result<> assigned = slots_.assign(names); !assigned) return assigned;
  std::vector<InterfaceState> found;
  for (std::size_t i = 0; i < all->size(); ++i) {
    const config::Interface& interface = (*all)[i];
    InterfaceState state;
    const auto known = std::find_if(states_.begin(), states_.end(), [&](const InterfaceState& before) {
      return before.configured.name == interface.name;
    });
    if (known != states_.end()) state = *known;
    state.configured = interface;
    state.slot = slots_.of(interface.name);
    if (i >= wanted.size()) state.host_port = i - wanted.size();
    if (Result<> there = find(state); !there)
      return pass_on(std::move(there), origin + ":" + std::to_string(interface.line));
    found.push_back(std::move(state));
  }
  states_ = std::move(found);
  return {};
}

// Before anything is made for them.
Result<> Interfaces::check_wanted(const std::vector<config::Interface>& wanted, const std::string& origin) {
  std::vector<InterfaceState> looked_at;
  for (const config::Interface& interface : wanted) {
    InterfaceState state;
    state.configured = interface;
    if (Result<> there = find(state); !there)
      return pass_on(std::move(there), origin + ":" + std::to_string(interface.line));
    looked_at.push_back(std::move(state));
  }
  return check_one_role_a_wire(looked_at, origin);
}

// Whatever another interface brings must fit into a host port.
Result<std::vector<config::Interface>> Interfaces::with_host_ports(
    const std::vector<config::Interface>& wanted) {
  std::vector<config::Interface> all = wanted;
  std::uint32_t mtu = kLeastMtu;
  for (const config::Interface& interface : wanted)
    if (const Result<dataplane::Link> link = netdev_->link(interface.name)) mtu = std::max(mtu, link->mtu);
  std::set<std::string> segments;
  for (const config::Interface& interface : wanted) {
    if (interface.role != config::Role::local || !segments.insert(interface.segment).second) continue;
    const std::size_t number = segments.size() - 1;
    if (Result<> made = dataplane::make_host_port(number, mtu); !made) return pass_on(std::move(made));
    all.push_back({dataplane::host_port_far_name(number), config::Role::local, interface.segment, 0});
  }
  return all;
}

Result<> Interfaces::find(InterfaceState& state) {
  Result<dataplane::Link> link = netdev_->link(state.configured.name);
  Result<> fit;
  if (!link) fit = pass_on(std::move(link));
  if (fit) fit = dataplane::check_fit(*link, state.configured.role);
  const std::optional<IfIndex> before = wire_of(state);
  if (fit) fit = find_carrier(state, *link);
  if (!fit) {
    state.ifindex.reset();
    state.carrier.reset();
    state.mode = dataplane::XdpMode::none;
    return fit;
  }
  if (before != state.carrier.value_or(dataplane::Carrier{link->ifindex, 0}).ifindex) {
    state.mode = dataplane::XdpMode::none;
    state.fresh = true;
  }
  state.ifindex = link->ifindex;
  state.mtu = link->mtu;
  state.mac = link->mac;
  state.up = link->up;
  state.kind = link->kind;
  state.peer = link->peer;
  return {};
}

Result<> Interfaces::find_carrier(InterfaceState& state, const dataplane::Link& link) {
  state.carrier.reset();
  state.wire = link.name;
  if (!link.vlan) return {};
  Result<dataplane::Link> carrier = netdev_->link(link.vlan->carrier);
  if (!carrier) return pass_on(std::move(carrier));
  if (Result<> fit = dataplane::check_carrier(*carrier, link); !fit) return fit;
  state.carrier = dataplane::Carrier{carrier->ifindex, link.vlan->id};
  state.wire = carrier->name;
  return {};
}

bool Interfaces::refresh() {
  bool moved = false;
  for (InterfaceState& state : states_) {
    const auto before = std::tuple(state.ifindex, state.carrier, state.mtu, state.mac);
    if (const Result<> there = find(state); !there) state.problem = there.error().message();
    moved = moved || std::tuple(state.ifindex, state.carrier, state.mtu, state.mac) != before;
  }
  return moved;
}

Result<bool> Interfaces::attach(Which which, bool allow_generic) {
  Result<bool> outcome = false;
  for (InterfaceState& state : states_) {
    if (!state.ifindex || (which == Which::fresh && !state.fresh)) continue;
    state.fresh = false;
    Result<dataplane::Attachment> attached = attach_one(*plane_, state, allow_generic);
    if (!attached) {
      state.mode = dataplane::XdpMode::none;
      state.problem = attached.error().message();
      if (outcome) outcome = pass_on(std::move(attached));
      continue;
    }
    state.mode = attached->mode;
    if (outcome && attached->changed) outcome = true;
    judge(state);
  }
  if (Result<> egress = dataplane::set_egress(*plane_, ports()); !egress && outcome)
    outcome = pass_on(std::move(egress));
  return outcome;
}

void Interfaces::judge(InterfaceState& state) {
  if (!state.ifindex) return;
  if (state.mode == dataplane::XdpMode::none) {
    state.problem =
        "interface " + state.configured.name +
        ": Postern's XDP program is not attached (taken off by hand?); nothing passes there until "
        "`postern reload` or a restart attaches it again";
  } else if (!state.up) {
    state.problem = "interface " + state.configured.name + " is down; bring it up with `ip link set " +
                    state.configured.name + " up`";
  } else {
    state.problem.clear();
  }
}

void Interfaces::check_attached() {
  for (InterfaceState& state : states_) {
    if (!state.ifindex) continue;
    const Result<dataplane::XdpMode> mode = dataplane::attached_mode(*plane_, *wire_of(state));
    if (!mode) {
      state.problem = mode.error().message();
      continue;
    }
    const bool failed_before = state.mode == dataplane::XdpMode::none && *mode == state.mode;
    state.mode = *mode;
    // What attach() found is the better explanation.
    if (failed_before && !state.problem.empty()) continue;
    judge(state);
  }
}

Result<> Interfaces::detach_others(const Interfaces& kept) const {
  Result<> outcome;
  for (const InterfaceState& state : states_) {
    if (!state.ifindex || has_wire(kept.states_, *wire_of(state))) continue;
    if (Result<> detached = dataplane::detach(*plane_, *wire_of(state)); !detached && outcome)
      outcome = pass_on(std::move(detached), "interface " + state.wire);
    if (!state.host_port) continue;
    if (Result<> removed = dataplane::remove_host_port(*state.host_port); !removed && outcome)
      outcome = pass_on(std::move(removed));
  }
  return outcome;
}

std::vector<dataplane::SitePort> Interfaces::ports() const {
  std::vector<dataplane::SitePort> ports;
  for (const InterfaceState& state : states_)
    if (state.ifindex) ports.push_back(site_port(state));
  return ports;
}

std::uint32_t Interfaces::tunnel_mtu() const {
  std::uint32_t mtu = kMostMtu;
  for (const InterfaceState& state : states_)
    if (state.ifindex && state.configured.role == config::Role::underlay) mtu = std::min(mtu, state.mtu);
  return mtu - kTunnelBytes;
}

dataplane::BackstopRules Interfaces::backstop(const config::Config& config) const {
  dataplane::BackstopRules rules;
  rules.table = backstop_table(config.mesh, config.gateway);
  rules.tunnel_port = config.tunnel_port;
  for (const InterfaceState& state : states_) {
    if (state.host_port) {
      rules.host.push_back(dataplane::host_port_name(*state.host_port));
      continue;
    }
    (state.configured.role == config::Role::underlay ? rules.underlay : rules.local)
        .push_back(state.configured.name);
    const bool own = std::any_of(states_.begin(), states_.end(), [&](const InterfaceState& other) {
      return other.configured.name == state.wire;
    });
    if (!own && std::find(rules.local.begin(), rules.local.end(), state.wire) == rules.local.end())
      rules.local.push_back(state.wire);
  }
  return rules;
}

bool Interfaces::watches(const std::string& link) const {
  return std::any_of(states_.begin(), states_.end(), [&](const InterfaceState& state) {
    return state.configured.name == link || state.wire == link;
  });
}

bool Interfaces::all_attached() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const InterfaceState& state) { return state.mode != dataplane::XdpMode::none; });
}

}  // namespace postern::agent
