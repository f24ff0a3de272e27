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
#include "ledger/claim_fold.h"
#include "mesh/members.h"
#include "observe/observation.h"

namespace postern::agent {

// An address of its own prefix, which a resource's holder serves.
struct ResourceAddress {
  std::string segment;
  IpAddress address;
  std::optional<MacAddress> mac;  // the segment's, when this is its gateway address
};

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
  dataplane::Claimants claimants;
  ledger::Roster roster;  // who may claim what
  std::map<ResourceNumber, std::vector<ResourceAddress>> resource_addresses;
  std::map<std::string, std::vector<dataplane::HostRoute>> host_routes;  // by segment
  std::vector<IpAddress> remotes;                                        // tunnel addresses of active peers
  mesh::Members members;                                                 // gateways that may link
  std::map<wire::PublicKey, std::string> node_names;  // removed gateways too: all whose events are taken
  UtcSeconds judged_at;                               // the time by which validity was judged
  std::optional<UtcSeconds> changes_at;
};

// How many rows the table `resources` has now.
void note_holders(Served& served, std::size_t rows);

// What links and claims need, before anything is compiled: the rest of it is empty.
Served describe_in_part(const authority::Candidate& candidate, dataplane::Claimants claimants);

// Takes all of `compiled` but its tables and floors.
Served describe(const authority::Candidate& candidate, dataplane::Compiled& compiled, UtcSeconds judged_at);

}  // namespace postern::agent
