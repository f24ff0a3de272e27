// SPDX-License-Identifier: Apache-2.0
// Who may link: the active gateways of a snapshot (SPEC 8.3).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "authority/snapshot.h"
#include "core/ip.h"
#include "mesh/node_key.h"

namespace postern::mesh {

struct Member {
  std::string gateway;
  NodeId node{};
  DhPublic key{};               // of its links
  std::vector<Endpoint> links;  // where it listens
  friend bool operator==(const Member&, const Member&) = default;
};

class Members {
 public:
  Members() = default;  // nobody
  // Revoked gateways, tombstones and keys that no link can be made to are left out.
  explicit Members(const authority::Snapshot& snapshot);

  // The gateway that may link under this node id; null when there is none.
  const Member* find(const NodeId& node) const;
  const std::map<NodeId, Member>& all() const { return by_node_; }
  // Whether connections from there may come from one of them: its link and underlay addresses.
  bool is_address_of_one(const IpAddress& address) const { return addresses_.count(address) != 0; }

  friend bool operator==(const Members&, const Members&) = default;

 private:
  std::map<NodeId, Member> by_node_;
  std::set<IpAddress> addresses_;
};

}  // namespace postern::mesh
