// SPDX-License-Identifier: Apache-2.0
// The life of one mesh, as its seed has it (SPEC 10.8): gateways claim, release, are killed, frozen, put to
// sleep, lose power and disks, are cut off and come together again, under clocks that run apart; then all is
// quiet, and one has to hold.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/mesh/gateway.h"
#include "sim/mesh/oracle.h"
#include "sim/mesh/shrinker.h"
#include "sim/mesh/wires.h"
#include "sim/mesh/world.h"

namespace postern::sim {

class Life {
 public:
  // Without the troubles that it is spared.
  Life(std::uint64_t seed, std::function<void(const std::string&)> observer, std::set<Trouble> spared = {});

  // The violation that ended it, or "".
  std::string run();
  std::uint64_t steps() const { return steps_; }
  const std::vector<Trouble>& troubles() const { return troubles_; }
  std::uint64_t takeovers() const { return oracle_->takeovers(); }
  std::uint64_t partings() const { return oracle_->partings(); }
  // Steps over what was compacted away that gateways took which run at the end.
  std::uint64_t steps_over() const;
  const WireCounts& wire_counts() const { return wires_.counts(); }
  std::uint64_t twins() const { return twins_; }

 private:
  struct Later {
    std::uint64_t at_ns = 0;
    std::function<void()> what;
  };

  void make_roster();
  void make_gateways();
  bool is_late(const Gateway& gateway) const;
  std::string run_for(std::uint64_t time_ns);
  std::string step();
  void befall();
  bool befalls(unsigned kind, unsigned permille);
  bool all_linked() const;
  void strike();
  void strike_host(Gateway& gateway);
  void strike_network();
  void double_process(Gateway& gateway);
  void end_double();
  void order(Gateway& gateway);
  void change_roster();
  void later(std::uint64_t most_ns, std::function<void()> what);
  void end_troubles();
  void say_views();
  Gateway& any() { return *gateways_[fate_.below(gateways_.size())]; }

  const std::uint64_t seed_;
  World world_;
  RandomSource fate_{0};  // of the trouble that befalls now
  std::set<Trouble> spared_;
  std::vector<Trouble> troubles_;
  const bool apart_;
  const bool condenses_;  // gateways adopt and compact, and one comes late (SPEC 5.7)
  Wires wires_;
  ledger::Roster roster_;
  Names names_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
  std::vector<ResourceNumber> resources_;
  std::unique_ptr<Oracle> oracle_;
  std::vector<Later> later_;
  std::set<Wires::Pair> wanted_;  // links
  // A second process under the key of a gateway, which says nothing of its own.
  struct Mute final : mesh::LinkHandler {
    void on_up(const mesh::PeerLink& /*peer*/) override {}
    void on_message(std::string_view /*gateway*/, ByteView /*message*/) override {}
    void on_down(std::string_view /*gateway*/, std::string_view /*why*/) override {}
  };
  Mute mute_;
  std::unique_ptr<Uplink> twin_;
  Gateway* twin_of_ = nullptr;
  std::uint64_t twins_ = 0;
  std::uint64_t steps_ = 0;
  bool quiet_ = false;
};

}  // namespace postern::sim
