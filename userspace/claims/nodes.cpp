// SPDX-License-Identifier: Apache-2.0
#include "claims/nodes.h"

#include <algorithm>

namespace postern::claims {

void Nodes::follow(const std::map<wire::PublicKey, std::string>& nodes) {
  std::erase_if(nodes_, [&](const auto& node) { return nodes.count(node.first) == 0; });
  for (const auto& [key, name] : nodes)
    nodes_.try_emplace(key);
}

void Nodes::discontinuity(std::uint64_t now_boot_ns) {
  since_boot_ns_ = now_boot_ns;
  for (auto& [key, node] : nodes_)
    node.round = false;
}

bool Nodes::hear(const BeatMessage& message, std::uint64_t now_boot_ns) {
  Node& node = nodes_.at(message.beat.node);
  // Its counters of rows began anew.
  if (message.beat.boots != node.beat.boots) node.rows.reset();
  if (!node.rows.take(message)) return false;
  node.beat = message.beat;
  node.heard_boot_ns = now_boot_ns;
  node.clock.note(message.beat.made_ms, now_boot_ns);
  node.outrun = false;
  return true;
}

const Node* Nodes::find(const wire::PublicKey& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

Node* Nodes::find(const wire::PublicKey& node) {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::uint64_t Nodes::silent_ns(const wire::PublicKey& key, std::uint64_t now_boot_ns) const {
  std::uint64_t since_ns = since_boot_ns_;
  if (const Node* const node = find(key); node != nullptr)
    since_ns = std::max({since_ns, node->heard_boot_ns, node->promised_boot_ns});
  return now_boot_ns > since_ns ? now_boot_ns - since_ns : 0;
}

std::vector<Echo> Nodes::echoes() const {
  std::vector<Echo> out;
  for (const auto& [key, node] : nodes_) {
    if (node.beat.asks || node.outrun) out.push_back({key, node.beat.boots, node.beat.beats});
  }
  return out;
}

}  // namespace postern::claims
