// SPDX-License-Identifier: Apache-2.0
// From a snapshot to the tables of one gateway. Pure: no I/O, no clock, no randomness (SPEC 2.2).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "authority/snapshot.h"
#include "config/config.h"
#include "core/ids.h"
#include "core/result.h"
#include "dataplane/errors.h"
#include "dataplane/holders.h"
#include "dataplane/host_port.h"
#include "dataplane/tables.h"

namespace postern::dataplane {

// By which a VLAN's frames come and go, and with which tag.
struct Carrier {
  IfIndex ifindex;
  std::uint16_t vlan = 0;
  friend bool operator==(const Carrier&, const Carrier&) = default;
};

struct SitePort {
  std::string name;
  IfIndex ifindex;
  config::Role role = config::Role::underlay;
  std::string segment;     // local ports
  std::uint16_t slot = 0;  // of its counters
  MacAddress mac = {};
  std::uint32_t mtu = 0;
  bool host = false;                    // the far end of a host port
  std::optional<Carrier> carrier = {};  // of a VLAN

  // Where its program runs, and its frames leave.
  IfIndex wire() const { return carrier ? carrier->ifindex : ifindex; }
};

// UDP ports of the host that only admitted peers reach.
struct GuardedPorts {
  std::vector<std::uint16_t> ports;
  std::uint64_t rate_packets_per_s = 0;  // of all of them together; 0: no limit
};

// What a gateway knows of itself that the snapshot does not say.
struct Site {
  std::string gateway;
  std::uint16_t tunnel_port = PT_VXLAN_PORT;
  bool clamp_mss = true;
  std::uint16_t geneve_port = PT_GENEVE_PORT;
  std::uint16_t fence_class = PT_FENCE_CLASS;
  GuardedPorts guarded;
  std::vector<SitePort> ports;
  std::map<std::string, PeerId> peer_ids;  // of every peer, and of every gateway but this one
  Holders holders;
  UtcSeconds now;  // decides not_before and expires
};

// Names for the numbers in the tables.
struct Legend {
  std::map<PeerId, std::string> peers;
  std::vector<std::string> classes;                // by class id
  std::map<std::uint32_t, std::string> segments;   // by VNI
  std::map<std::uint32_t, std::string> resources;  // by number
  std::vector<std::string> services;               // by number
  std::vector<std::string> rules;                  // by number: "web to db: tcp 80,443"
};

struct Compiled {
  Tables tables;
  Legend legend;
  std::map<std::string, std::vector<HostRoute>> host_routes;  // by segment
  std::map<ResourceNumber, Epoch> floors;                     // to raise the fences to, before the swap
  Claimants claimants;                                        // who may hold what
  // When compiling again would give something else: the next not_before or expires, of a peer or the
  // snapshot.
  std::optional<UtcSeconds> changes_at;
};

// Compiled::claimants alone; of `peer_ids` those of gateways are enough.
Claimants claimants_in(const authority::Snapshot& snapshot, const std::string& own_gateway,
                       const std::map<std::string, PeerId>& peer_ids);

// Names every peer and gateway that `Site::peer_ids` must hold.
std::vector<std::string> peer_names(const authority::Snapshot& snapshot, const std::string& own_gateway);

// Refuses (errc::unsupported) what this data plane cannot enforce: grants. An expired snapshot with on_expiry
// close compiles to tables that are not open. Holders that the snapshot does not admit hold nothing, and are
// no failure: which of them still may is for the claims to decide.
Result<Compiled> compile(const authority::Snapshot& snapshot, const Site& site);

}  // namespace postern::dataplane
