// SPDX-License-Identifier: Apache-2.0
// What a run of the simulation came by, and whether that is enough to call it a proof.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace postern::ledger::sim {

struct Coverage {
  std::uint64_t seeds = 0;
  std::uint64_t crashes = 0;
  std::uint64_t power_cuts = 0;
  std::uint64_t in_recovery_again = 0;           // the start before had been struck too
  std::uint64_t acknowledged = 0;                // events
  std::map<std::string, std::uint64_t> phases;   // where the end struck
  std::map<std::string, std::uint64_t> classes;  // of starts, and refusals by name
  std::map<std::string, std::uint64_t> troubles;

  void add(const Coverage& other);
  // Names of what a run of this length must have met and did not; empty when it met all.
  std::string missing() const;
  std::string text() const;
};

}  // namespace postern::ledger::sim
