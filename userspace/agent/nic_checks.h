// SPDX-License-Identifier: Apache-2.0
// What `postern doctor` makes of a network card's settings (SPEC 7.5). Pure: the settings are read elsewhere.
// What a driver does not know is said in one line, and is no alarm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "dataplane/nic_settings.h"
#include "wire/check.h"

namespace postern::agent {

struct NicFacts {
  std::string name;  // where XDP runs: of a VLAN, the device below
  std::string kind;  // "veth", "tun", "" for a plain device
  config::Role role = config::Role::underlay;
  bool vlans = false;  // its frames have tags
  bool native = true;
  unsigned cpus = 1;
  std::optional<std::string> peer;  // a veth's other end, if it can be seen from here
  dataplane::NicSettings settings;
  dataplane::NicSettings peer_settings;
};

std::vector<wire::Check> judge_nic(const NicFacts& facts);

}  // namespace postern::agent
