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
#include "sim/mesh/network.h"
#include "sim/mesh/oracle.h"
#include "sim/mesh/world.h"

namespace postern::sim {

class Life {
 public:
  Life(std::uint64_t seed, std::function<void(const std::string&)> observer);

  // The violation that ended it, or "".
  std::string run();
  std::uint64_t steps() const { return steps_; }
  std::uint64_t takeovers() const { return oracle_->takeovers(); }
  std::uint64_t partings() const { return oracle_->partings(); }
  // Steps over what was compacted away that gateways took which run at the end.
  std::uint64_t steps_over() const;

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
  void relink();
  void strike();
  void strike_host(Gateway& gateway);
  void strike_network();
  void order(Gateway& gateway);
  void change_roster();
  void later(std::uint64_t most_ns, std::function<void()> what);
  void end_troubles();
  void say_views();
  Gateway& any() { return *gateways_[world_.random.below(gateways_.size())]; }

  World world_;
  const bool apart_;
  const bool condenses_;  // gateways adopt and compact, and one comes late (SPEC 5.7)
  Network network_;
  ledger::Roster roster_;
  std::map<wire::PublicKey, std::string> names_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
  std::vector<ResourceNumber> resources_;
  std::unique_ptr<Oracle> oracle_;
  std::vector<Later> later_;
  std::set<Network::Pair> wanted_;  // links
  std::set<Network::Pair> cut_;
  std::uint64_t steps_ = 0;
  bool quiet_ = false;
};

}  // namespace postern::sim
