// SPDX-License-Identifier: Apache-2.0
#include "agent/interfaces.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "dataplane/host_port.h"

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
          state.host_port.has_value()};
}

constexpr std::uint32_t kLeastMtu = 1500;
constexpr std::uint32_t kMostMtu = 65535;
constexpr std::uint32_t kTunnelBytes = 70;  // over IPv6

bool has_ifindex(const std::vector<InterfaceState>& states, IfIndex ifindex) {
  return std::any_of(states.begin(), states.end(),
                     [&](const InterfaceState& state) { return state.ifindex == ifindex; });
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
  if (!link) {
    state.ifindex.reset();
    state.mode = dataplane::XdpMode::none;
    return pass_on(std::move(link));
  }
  if (state.ifindex != link->ifindex) {
    state.mode = dataplane::XdpMode::none;
    state.fresh = true;
  }
  state.ifindex = link->ifindex;
  state.mtu = link->mtu;
  state.mac = link->mac;
  state.up = link->up;
  return {};
}

bool Interfaces::refresh() {
  bool moved = false;
  for (InterfaceState& state : states_) {
    const auto before = std::tuple(state.ifindex, state.mtu, state.mac);
    if (const Result<> there = find(state); !there) state.problem = there.error().message();
    moved = moved || std::tuple(state.ifindex, state.mtu, state.mac) != before;
  }
  return moved;
}

Result<bool> Interfaces::attach(Which which, bool allow_generic) {
  Result<bool> outcome = false;
  for (InterfaceState& state : states_) {
    if (!state.ifindex || (which == Which::fresh && !state.fresh)) continue;
    state.fresh = false;
    Result<dataplane::Attachment> attached = dataplane::attach(*plane_, site_port(state), allow_generic);
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
    const Result<dataplane::XdpMode> mode = dataplane::attached_mode(*plane_, *state.ifindex);
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
    if (!state.ifindex || has_ifindex(kept.states_, *state.ifindex)) continue;
    if (Result<> detached = dataplane::detach(*plane_, *state.ifindex); !detached && outcome)
      outcome = pass_on(std::move(detached), "interface " + state.configured.name);
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
  }
  return rules;
}

bool Interfaces::all_attached() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const InterfaceState& state) { return state.mode != dataplane::XdpMode::none; });
}

}  // namespace postern::agent
