// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/network.h"

#include <algorithm>

namespace postern::sim {

void Network::link(const std::string& one, const std::string& other) {
  if (handlers_.count(one) == 0 || handlers_.count(other) == 0) return;
  if (!links_.insert(std::minmax(one, other)).second) return;
  handlers_.at(one).up(other);
  handlers_.at(other).up(one);
}

void Network::cut(const std::string& one, const std::string& other) {
  if (links_.erase(std::minmax(one, other)) == 0) return;
  for (const Pair& way : {Pair{one, other}, Pair{other, one}}) {
    queues_.erase(way);
    stalled_.erase(way);
  }
  if (handlers_.count(one) != 0) handlers_.at(one).down(other);
  if (handlers_.count(other) != 0) handlers_.at(other).down(one);
}

void Network::detach(const std::string& name) {
  handlers_.erase(name);
  const std::set<Pair> links = links_;
  for (const auto& [one, other] : links)
    if (one == name || other == name) cut(one, other);
}

bool Network::send(const std::string& from, const std::string& to, ByteView message) {
  if (!linked(from, to)) return false;
  std::deque<Message>& queue = queues_[{from, to}];
  std::uint64_t due_ns = world_.now_ns + world_.random.below(max_delay_ns_ + 1);
  if (world_.random.chance(60)) due_ns = world_.now_ns;
  if (!queue.empty()) due_ns = std::max(due_ns, queue.back().due_ns);
  queue.push_back({due_ns, Bytes(message.begin(), message.end())});
  return true;
}

void Network::deliver() {
  for (bool any = true; any;) {
    any = false;
    for (auto& [way, queue] : queues_) {
      if (queue.empty() || queue.front().due_ns > world_.now_ns || stalled_.count(way) != 0) continue;
      const Bytes bytes = std::move(queue.front().bytes);
      const Pair from_to = way;
      queue.pop_front();
      handlers_.at(from_to.second).deliver(from_to.first, bytes);
      any = true;
      break;  // the delivery may have cut links
    }
  }
}

}  // namespace postern::sim
