// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "authority/adoption_rules.h"
#include "core/ids.h"
#include "core/ip.h"
#include "dataplane/compile.h"
#include "mesh/members.h"
#include "observe/observation.h"

namespace postern::agent {

// What the agent keeps of the generation that it put into the kernel. The tables themselves are read back
// from there.
struct Served {
  Serial serial;
  Hash256 hash{};
  UtcSeconds issued;
  UtcSeconds expires;
  authority::OnExpiry on_expiry = authority::OnExpiry::hold;
  bool open = false;

  std::size_t peers = 0;
  std::size_t prefixes = 0;
  std::size_t rules = 0;
  std::vector<std::pair<std::string_view, std::uint64_t>> peers_by_state;
  std::vector<observe::TableObservation> tables;

  dataplane::Legend legend;
  std::map<std::string, std::vector<dataplane::HostRoute>> host_routes;  // by segment
  std::vector<IpAddress> remotes;                                        // tunnel addresses of active peers
  mesh::Members members;                                                 // gateways that may link
  std::map<wire::PublicKey, std::string> node_names;  // removed gateways too: all whose events are taken
  UtcSeconds judged_at;                               // the time by which validity was judged
  std::optional<UtcSeconds> changes_at;
};

Served describe(const authority::Candidate& candidate, dataplane::Compiled&& compiled, UtcSeconds judged_at);

}  // namespace postern::agent
