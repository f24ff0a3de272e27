// SPDX-License-Identifier: Apache-2.0
// Links between simulated gateways: in order, late, and cut. A direction that stalls delivers nothing until
// it goes on or the link is cut, as TCP over a path that drops one way.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/bytes.h"
#include "sim/mesh/world.h"

namespace postern::sim {

class Network {
 public:
  using Pair = std::pair<std::string, std::string>;
  struct Handler {
    std::function<void(const std::string& from, ByteView message)> deliver;
    std::function<void(const std::string& other)> up;
    std::function<void(const std::string& other)> down;
  };

  Network(World& world, std::uint64_t max_delay_ns) : world_(world), max_delay_ns_(max_delay_ns) {}

  void attach(const std::string& name, Handler handler) { handlers_[name] = std::move(handler); }
  void detach(const std::string& name);

  bool linked(const std::string& one, const std::string& other) const {
    return links_.count(std::minmax(one, other)) != 0;
  }
  void link(const std::string& one, const std::string& other);
  // What is on its way is lost.
  void cut(const std::string& one, const std::string& other);
  void stall(const std::string& from, const std::string& to) { stalled_.insert({from, to}); }
  bool stalls(const std::string& from, const std::string& to) const {
    return stalled_.count({from, to}) != 0;
  }
  void go_on() { stalled_.clear(); }

  bool send(const std::string& from, const std::string& to, ByteView message);
  // What is due.
  void deliver();

 private:
  struct Message {
    std::uint64_t due_ns = 0;
    Bytes bytes;
  };

  World& world_;
  std::uint64_t max_delay_ns_;
  std::map<std::string, Handler> handlers_;
  std::set<Pair> links_;
  std::set<Pair> stalled_;
  std::map<Pair, std::deque<Message>> queues_;
};

}  // namespace postern::sim
