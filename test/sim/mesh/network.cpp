// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/network.h"

#include <algorithm>

namespace postern::sim {

class Network::Plug final : public Uplink {
 public:
  Plug(Network& network, std::string name, mesh::LinkHandler& handler)
      : network_(network), name_(std::move(name)), handler_(handler) {
    network_.plugs_[name_] = this;
  }
  Plug(const Plug&) = delete;
  Plug& operator=(const Plug&) = delete;
  ~Plug() override { network_.detach(name_); }

  bool send(std::string_view to, ByteView message) override {
    return network_.send(name_, std::string(to), message);
  }
  void hold(std::string_view /*from*/) override {}
  void resume(std::string_view /*from*/) override {}
  void follow(const Names& /*names*/) override {}
  void lose_power() override {}
  const std::string& fault() const override { return fault_; }

  void tick(std::uint64_t /*monotonic_ns*/) override {
    for (std::size_t left = inbox_.size(); left > 0 && !inbox_.empty(); --left) {
      const auto [from, message] = std::move(inbox_.front());
      inbox_.pop_front();
      handler_.on_message(from, message);
    }
  }

  void up(const std::string& other) { handler_.on_up({other, 1, {}}); }
  void down(const std::string& other) {
    std::erase_if(inbox_, [&](const auto& waiting) { return waiting.first == other; });
    handler_.on_down(other, "cut");
  }
  void take(const std::string& from, Bytes message) { inbox_.emplace_back(from, std::move(message)); }

 private:
  Network& network_;
  std::string name_;
  mesh::LinkHandler& handler_;
  std::deque<std::pair<std::string, Bytes>> inbox_;
  std::string fault_;
};

std::unique_ptr<Uplink> Network::plug_in(const std::string& name, const wire::SecretKey& /*key*/,
                                         mesh::LinkHandler& handler) {
  return std::make_unique<Plug>(*this, name, handler);
}

void Network::link(const std::string& one, const std::string& other) {
  if (plugs_.count(one) == 0 || plugs_.count(other) == 0) return;
  if (!links_.insert(std::minmax(one, other)).second) return;
  plugs_.at(one)->up(other);
  plugs_.at(other)->up(one);
}

void Network::cut(const std::string& one, const std::string& other) {
  if (links_.erase(std::minmax(one, other)) == 0) return;
  for (const Pair& way : {Pair{one, other}, Pair{other, one}}) {
    queues_.erase(way);
    stalled_.erase(way);
  }
  if (plugs_.count(one) != 0) plugs_.at(one)->down(other);
  if (plugs_.count(other) != 0) plugs_.at(other)->down(one);
}

void Network::detach(const std::string& name) {
  plugs_.erase(name);
  const std::set<Pair> links = links_;
  for (const auto& [one, other] : links)
    if (one == name || other == name) cut(one, other);
}

bool Network::send(const std::string& from, const std::string& to, ByteView message) {
  if (links_.count(std::minmax(from, to)) == 0) return false;
  queues_[{from, to}].emplace_back(message.begin(), message.end());
  return true;
}

void Network::deliver() {
  for (auto& [way, queue] : queues_) {
    if (stalled_.count(way) != 0) continue;
    while (!queue.empty()) {
      plugs_.at(way.second)->take(way.first, std::move(queue.front()));
      queue.pop_front();
    }
  }
}

}  // namespace postern::sim
