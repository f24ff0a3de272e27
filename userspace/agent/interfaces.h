// SPDX-License-Identifier: Apache-2.0
// The configured interfaces as they are now: found, attached, or in trouble. A value: a reload works on a
// copy and takes it over when all went well.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/port_slots.h"
#include "config/config.h"
#include "core/result.h"
#include "dataplane/attachments.h"
#include "dataplane/backstop.h"
#include "dataplane/netdev.h"
#include "dataplane/plane.h"

namespace postern::agent {

struct InterfaceState {
  config::Interface configured;
  std::uint16_t slot = 0;
  std::optional<IfIndex> ifindex;             // none: the interface is gone
  std::optional<dataplane::Carrier> carrier;  // of a VLAN: by which its frames come and go
  std::string wire;                           // where the program runs: the carrier, or the interface itself
  std::uint32_t mtu = 0;
  MacAddress mac;
  bool up = false;
  dataplane::XdpMode mode = dataplane::XdpMode::none;
  std::optional<std::string> peer;  // a veth's other end, if it can be seen from here
  std::string kind;
  bool fresh = true;                     // found, or found to be another one, since the last attach()
  std::string problem;                   // "" when all is well
  std::optional<std::size_t> host_port;  // this is the far end of that one; the config does not name it
};

enum class Which { all, fresh };

class Interfaces {
 public:
  // `plane` and `netdev` must outlive this.
  Interfaces(const dataplane::Plane& plane, dataplane::Netdev& netdev, PortSlots slots)
      : plane_(&plane), netdev_(&netdev), slots_(std::move(slots)) {}

  // Takes over these interfaces; each must exist and be of a kind that can serve. Makes a host port for each
  // segment that has a local one. `origin` is the config file's name.
  Result<> configure(const std::vector<config::Interface>& wanted, const std::string& origin);

  // Looks again. An interface that went away is a problem, not an error. True when one came, went, came
  // back as another one, or got another MTU, MAC or VLAN: the tables must be compiled anew.
  bool refresh();

  // Attaches the program to the interfaces that are there, all or the fresh ones, and lets frames out by
  // exactly those that are there. Goes on after a failure, and returns the first. True when a program was
  // attached.
  Result<bool> attach(Which which, bool allow_generic);

  // Asks the kernel which program runs. Never attaches: that is for the operator to order.
  void check_attached();

  // Takes our programs off the interfaces that `kept` does not have, and its host ports away.
  Result<> detach_others(const Interfaces& kept) const;

  std::vector<dataplane::SitePort> ports() const;
  // The largest packet that fits a tunnel, over IPv6 too, by the narrowest underlay interface.
  std::uint32_t tunnel_mtu() const;
  dataplane::BackstopRules backstop(const config::Config& config) const;
  bool all_attached() const;
  // Whether news of this link concern us.
  bool watches(const std::string& link) const;
  const std::vector<InterfaceState>& states() const { return states_; }

 private:
  Result<> check_wanted(const std::vector<config::Interface>& wanted, const std::string& origin);
  Result<> find(InterfaceState& state);
  Result<> find_carrier(InterfaceState& state, const dataplane::Link& link);
  Result<std::vector<config::Interface>> with_host_ports(const std::vector<config::Interface>& wanted);
  void judge(InterfaceState& state);

  const dataplane::Plane* plane_;
  dataplane::Netdev* netdev_;
  PortSlots slots_;
  std::vector<InterfaceState> states_;
};

// The backstop's table, named after the gateway.
std::string backstop_table(const std::string& mesh, const std::string& gateway);

std::string_view role_text(config::Role role);
std::string_view mode_text(dataplane::XdpMode mode);

}  // namespace postern::agent
