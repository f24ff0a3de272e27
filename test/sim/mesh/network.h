// SPDX-License-Identifier: Apache-2.0
// Links between simulated gateways that are there or not, as their story has it: messages come in order, and
// a link is up and down at the word. A direction that stalls delivers nothing until it goes on or the link is
// cut. Lives have the real links (wires.h).
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/mesh/uplink.h"

namespace postern::sim {

class Network final : public Cables {
 public:
  using Pair = std::pair<std::string, std::string>;

  std::unique_ptr<Uplink> plug_in(const std::string& name, const wire::SecretKey& key,
                                  mesh::LinkHandler& handler) override;

  void link(const std::string& one, const std::string& other);
  // What is on its way is lost.
  void cut(const std::string& one, const std::string& other);
  void stall(const std::string& from, const std::string& to) { stalled_.insert({from, to}); }
  void go_on() { stalled_.clear(); }
  // What is due.
  void deliver();

 private:
  class Plug;
  bool send(const std::string& from, const std::string& to, ByteView message);
  void detach(const std::string& name);

  std::map<std::string, Plug*> plugs_;
  std::set<Pair> links_;
  std::set<Pair> stalled_;
  std::map<Pair, std::deque<Bytes>> queues_;
};

}  // namespace postern::sim
