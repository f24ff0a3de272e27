// SPDX-License-Identifier: Apache-2.0
// Gateways' links over a network in memory, with a clock of its own: connections that take time, deliver in
// pieces, break, or are cut without a word. The same at each run of a seed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "mesh/limits.h"
#include "mesh/links.h"
#include "unit/mesh/link_pair.h"

namespace postern::testing {

class SimulatedNetwork;

// What a gateway's links reported, in order.
class LinkDiary final : public mesh::LinkHandler {
 public:
  void on_up(const mesh::PeerLink& peer) override { lines.push_back("up " + std::string(peer.gateway)); }
  void on_message(std::string_view gateway, ByteView message) override {
    messages.emplace_back(std::string(gateway), Bytes(message.begin(), message.end()));
    if (act) act();
  }
  void on_down(std::string_view gateway, std::string_view why) override {
    lines.push_back("down " + std::string(gateway) + ": " + std::string(why));
  }
  void on_room(std::string_view gateway) override { lines.push_back("room " + std::string(gateway)); }

  std::vector<std::string> lines;
  std::vector<std::pair<std::string, Bytes>> messages;
  std::function<void()> act;
};

class SimulatedTransport final : public mesh::LinkTransport {
 public:
  SimulatedTransport(SimulatedNetwork& network, IpAddress own) : network_(network), own_(own) {}
  mesh::ConnectionId connect(const Endpoint& to) override;
  void send(mesh::ConnectionId id, Bytes bytes) override;
  void close(mesh::ConnectionId id) override;
  void read(mesh::ConnectionId, bool) override {}

 private:
  SimulatedNetwork& network_;
  IpAddress own_;
};

struct Node {
  Node(SimulatedNetwork& network, std::uint8_t number_, std::uint8_t incarnation, std::uint64_t seed)
      : number(number_),
        address(*IpAddress::parse("192.0.2." + std::to_string(number_))),
        randomness(seed * 1000 + number_ * 10U + incarnation),
        transport(network, address),
        links(identity_of(number_, incarnation), randomness, transport, diary) {}
  std::uint8_t number;
  IpAddress address;
  SeededRandomness randomness;
  SimulatedTransport transport;
  LinkDiary diary;
  mesh::Links links;
};

class SimulatedNetwork {
 public:
  explicit SimulatedNetwork(std::uint64_t seed, std::uint64_t most_delay_ms = 20)
      : seed_(seed), random_(seed), most_delay_ms_(most_delay_ms) {}

  Node& add(std::uint8_t number, const std::vector<std::uint8_t>& gateways, std::uint8_t incarnation = 1) {
    auto& node = nodes_[number];
    node = std::make_unique<Node>(*this, number, incarnation, seed_);
    node->links.set_members(mesh::Members(snapshot_of(gateways)), now_ns);
    return *node;
  }
  // As a crash: its connections are reset, or `quietly` gone as with a machine that lost power.
  void remove(std::uint8_t number, bool quietly = false) {
    const IpAddress address = nodes_.at(number)->address;
    nodes_.erase(number);
    const auto is_its = [&](const Pipe& pipe) { return pipe.ends[0] == address || pipe.ends[1] == address; };
    if (quietly) std::erase_if(pipes_, [&](const auto& entry) { return is_its(entry.second); });
    for (auto& [id, pipe] : pipes_)
      if (is_its(pipe)) pipe.broken = true;
  }
  Node& node(std::uint8_t number) { return *nodes_.at(number); }

  // From here on nothing between the two gets through, and nobody is told.
  void cut(std::uint8_t one, std::uint8_t other, bool on = true) {
    cut_[{std::min(one, other), std::max(one, other)}] = on;
  }

  void run_for(std::uint64_t time_ms) {
    const std::uint64_t end_ns = now_ns + time_ms * mesh::kMillisecond_ns;
    while (now_ns < end_ns) {
      now_ns += mesh::kMillisecond_ns;
      deliver();
      if (now_ns / mesh::kMillisecond_ns % 50 == 0) {
        for (auto& [number, node] : nodes_)
          node->links.tick(now_ns);
      }
    }
  }

  // A connection that some program makes, which says nothing by itself.
  mesh::ConnectionId connect_to(std::uint8_t number, const IpAddress& from) {
    return open(from, Endpoint{nodes_.at(number)->address, 7946});
  }
  void send_as_client(mesh::ConnectionId id, Bytes bytes) { push(pipes_.at(id), 1, std::move(bytes)); }

  mesh::ConnectionId open(const IpAddress& from, const Endpoint& to) {
    const mesh::ConnectionId id(++last_id_);
    Pipe& pipe = pipes_[id];
    pipe.ends = {from, to.address};
    pipe.due_ns = now_ns + delay_ns();
    return id;
  }
  void send(const IpAddress& from, mesh::ConnectionId id, Bytes bytes) {
    const auto found = pipes_.find(id);
    if (found == pipes_.end()) return;
    push(found->second, found->second.ends[0] == from ? 1 : 0, std::move(bytes));
  }
  void close(const IpAddress& from, mesh::ConnectionId id) {
    const auto found = pipes_.find(id);
    if (found == pipes_.end()) return;
    found->second.left[found->second.ends[0] == from ? 0 : 1] = true;
    push(found->second, found->second.ends[0] == from ? 1 : 0, {});
  }

  // Connections that anybody ever opened.
  std::uint64_t opened() const { return last_id_; }

  std::uint64_t now_ns = 1'000 * mesh::kSecond_ns;

 private:
  struct Parcel {
    std::uint64_t due_ns;
    Bytes bytes;  // none: the end
  };
  struct Pipe {
    std::array<IpAddress, 2> ends;  // who connected, who listens
    bool open = false;
    bool broken = false;
    std::uint64_t due_ns = 0;
    std::array<bool, 2> left{};                   // closed by that end
    std::array<std::deque<Parcel>, 2> towards{};  // that end
  };

  std::uint64_t delay_ns() { return (1 + random_() % most_delay_ms_) * mesh::kMillisecond_ns; }
  void push(Pipe& pipe, std::size_t end, Bytes bytes) {
    auto& queue = pipe.towards[end];
    const std::uint64_t last_ns = queue.empty() ? 0 : queue.back().due_ns;
    queue.push_back({std::max(last_ns, now_ns + delay_ns()), std::move(bytes)});
  }
  Node* at(const IpAddress& address) {
    for (auto& [number, node] : nodes_)
      if (node->address == address) return node.get();
    return nullptr;
  }
  bool is_cut(const Pipe& pipe) {
    const auto key = std::minmax(pipe.ends[0].bytes[15], pipe.ends[1].bytes[15]);
    const auto found = cut_.find({key.first, key.second});
    return found != cut_.end() && found->second;
  }
  void deliver() {
    std::vector<mesh::ConnectionId> ids;
    for (const auto& [id, pipe] : pipes_)
      ids.push_back(id);
    for (const mesh::ConnectionId id : ids)
      if (pipes_.count(id) != 0) deliver(id);
  }
  void end(mesh::ConnectionId id, std::size_t side, std::string_view why) {
    Pipe& pipe = pipes_.at(id);
    Node* const node = at(pipe.ends[side]);
    if (node == nullptr || pipe.left[side] || (side == 1 && !pipe.open)) return;
    pipe.left[side] = true;
    node->links.closed(id, why, now_ns);
  }
  void deliver(mesh::ConnectionId id) {
    Pipe& pipe = pipes_.at(id);
    if (is_cut(pipe)) return;
    if (!pipe.open && !pipe.broken) {
      if (now_ns < pipe.due_ns) return;
      Node* const listener = at(pipe.ends[1]);
      if (pipe.left[0] || listener == nullptr) {
        end(id, 0, "connection refused");
        pipes_.erase(id);
        return;
      }
      pipe.open = true;
      listener->links.accepted(id, pipe.ends[0], now_ns);
      if (Node* const dialer = at(pipe.ends[0]); dialer != nullptr) dialer->links.connected(id, now_ns);
      return;
    }
    if (pipe.broken) {
      end(id, 0, "connection reset");
      end(id, 1, "connection reset");
      pipes_.erase(id);
      return;
    }
    for (const std::size_t side : {0U, 1U})
      if (pipes_.count(id) != 0 && !take(id, side)) return;
  }
  // One parcel; false when the connection is over.
  bool take(mesh::ConnectionId id, std::size_t side) {
    Pipe& pipe = pipes_.at(id);
    auto& queue = pipe.towards[side];
    if (queue.empty() || queue.front().due_ns > now_ns) return true;
    const Bytes bytes = std::move(queue.front().bytes);
    queue.pop_front();
    if (bytes.empty()) {
      end(id, side, "closed by the other side");
      pipes_.erase(id);
      return false;
    }
    if (Node* const sender = at(pipe.ends[1 - side]); sender != nullptr && !pipe.left[1 - side])
      sender->links.written(id, bytes.size(), now_ns);
    if (Node* const node = at(pipe.ends[side]); node != nullptr && !pipe.left[side]) {
      const std::size_t half = bytes.size() / 2;
      node->links.received(id, ByteView(bytes).first(half), now_ns);
      if (pipes_.count(id) != 0 && !pipes_.at(id).left[side])
        node->links.received(id, ByteView(bytes).subspan(half), now_ns);
    }
    return pipes_.count(id) != 0;
  }

  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::uint64_t most_delay_ms_;
  std::map<std::uint8_t, std::unique_ptr<Node>> nodes_;
  std::map<mesh::ConnectionId, Pipe> pipes_;
  std::map<std::pair<std::uint8_t, std::uint8_t>, bool> cut_;
  std::uint64_t last_id_ = 0;
};

inline mesh::ConnectionId SimulatedTransport::connect(const Endpoint& to) {
  return network_.open(own_, to);
}
inline void SimulatedTransport::send(mesh::ConnectionId id, Bytes bytes) {
  network_.send(own_, id, std::move(bytes));
}
inline void SimulatedTransport::close(mesh::ConnectionId id) {
  network_.close(own_, id);
}

}  // namespace postern::testing
