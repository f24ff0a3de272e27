// SPDX-License-Identifier: Apache-2.0
// Gateways of the simulation (test/sim/mesh) whose life is told step by step: each counterexample of
// SPEC 10.5 as a story with a name. Links deliver within a tenth of a second. After each step the
// simulation's oracle looks.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/mesh/network.h"
#include "sim/mesh/oracle.h"

namespace postern::testing {

inline constexpr ResourceNumber kDoor{1};
inline constexpr ResourceNumber kOther{2};  // a resource beside it, for what has to be written at some moment

struct Story {
  std::uint32_t ttl_ms = 8'000;
  // One for each gateway: a, b, c. 1000 is exact.
  std::vector<std::uint64_t> rates_permille{1000, 1000, 1000};
  // Links are cut while two could serve: then they may, until they meet.
  bool apart = false;
};

class ScriptedMesh {
 public:
  // All are linked, are candidates of both resources in this order, and have told each other what they know.
  // None claims by itself.
  explicit ScriptedMesh(const Story& story = {});

  void run(std::uint64_t time_ms);
  // Until `expected` serves the door (see serving()), for so long at most. False: it does not come to that.
  bool comes_to(const std::string& expected, std::uint64_t most_ms);

  sim::Gateway& at(char gateway) { return *gateways_.at(static_cast<std::size_t>(gateway - 'a')); }
  // Claims the door; refused orders fail the test.
  void claim(char gateway);
  // a claims the door and comes to serve it.
  void a_serves();
  void release(char gateway);
  void automatic(char gateway) { at(gateway).set_automatic(); }

  // Cut until mended; what is on its way is lost.
  void cut(char one, char other);
  void isolate(char gateway);
  void mend();
  void mend(char one, char other);
  // What one sends does not come to the other any more, and the link stays.
  void stall(char from, char to) { network_.stall({from}, {to}); }
  void go_on() { network_.go_on(); }

  // The snapshot that all follow; change it and hand it on as the next one.
  ledger::Roster& roster() { return roster_; }
  void follow_roster();
  // A snapshot with so many resources more, of these numbers and like the door.
  void add_resources(std::uint32_t first, std::uint32_t count);

  // Who serves the door: "" nobody, "a", or "a+b".
  std::string serving();
  // As this gateway's fold has it: "" for a door without claim or the author of the live one.
  std::string holder(char gateway);
  std::vector<ledger::Verdict> verdicts(char gateway);  // of all claims of the door, by token
  Epoch top_epoch(char gateway);
  std::uint64_t beats(char gateway, char of);  // the newest that it has heard of another
  const sim::KernelRow& kernel(char gateway) { return at(gateway).kernel().at(kDoor); }
  claims::ResourceView view(char gateway);
  std::uint64_t overlap_ended_ms() const { return oracle_->last_overlap_ns() / sim::kMs_ns; }
  std::uint64_t now_ms() const { return world_.now_ns / sim::kMs_ns; }
  // Whether all digests are equal, one serves and all kernels agree on it.
  std::string disagreement() const { return oracle_->disagreement(); }
  sim::Oracle& oracle() { return *oracle_; }

 private:
  std::string name_of(const wire::PublicKey& node) const { return names_.at(node); }
  void relink();

  sim::World world_;
  sim::Network network_;
  sim::Oracle::Gateways gateways_;
  std::map<wire::PublicKey, std::string> names_;
  ledger::Roster roster_;
  std::unique_ptr<sim::Oracle> oracle_;
  std::set<sim::Network::Pair> cut_;
};

}  // namespace postern::testing
