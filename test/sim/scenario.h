// SPDX-License-Identifier: Apache-2.0
// The life of one journal on one simulated disk, as its seed has it: it is made, written to, struck, started
// again, many times over, and the oracle looks on (SPEC 4.11). The journal is the real one; only the disk is
// not.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/segmented_journal.h"
#include "sim/coverage.h"
#include "sim/gateway_events.h"
#include "sim/oracle.h"
#include "sim/simulated_disk.h"
#include "wire/sign.h"

namespace postern::ledger::sim {

// What befalls a seed's disk besides crashes.
enum class Trouble { none, failing_calls, full_disk, flips, old_images, second_writer };

class Scenario {
 public:
  // `observer` is told each call and step; may be empty.
  Scenario(std::uint64_t seed, std::size_t crashes, std::function<void(const std::string&)> observer);

  // The violation that ended it, or empty.
  std::string run();
  const Coverage& coverage() const { return coverage_; }

 private:
  using Opened = Result<std::unique_ptr<Journal>>;

  void say(const std::string& text) const;
  std::string create();
  std::string live();
  std::string look_at_refusal(const Error& error);
  void plan_end();
  void plan_fault();
  Opened open(std::vector<Record>& found);
  std::string start(std::unique_ptr<Journal>& journal, Harm harm);
  std::string judge(const std::vector<Record>& found, const Journal& journal, Harm harm);
  std::string start_with_flip(std::unique_ptr<Journal>& journal);
  std::string start_with_bad_base(std::unique_ptr<Journal>& journal, const std::string& name,
                                  std::size_t bit);
  std::string start_troubled(std::unique_ptr<Journal>& journal);
  std::string work(Journal& journal);
  std::string append(Journal& journal);
  std::string group(Journal& journal);
  std::string outcome(const Result<Lseq>& head, std::size_t payloads);
  std::string compact(Journal& journal);
  std::string put(Journal& journal);
  std::string rival(Journal& journal);
  std::string contest(Journal& first, Journal& second);
  std::vector<std::string> next_batch();
  void end_life();
  void count_end();
  // A failure that the disk's trouble explains.
  bool explained() const { return disk_.dead() || disk_.fault_struck(); }

  RandomSource random_;
  Trouble trouble_;
  SimulatedDisk disk_;
  Oracle oracle_;
  Coverage coverage_;
  std::size_t crashes_;
  std::function<void(const std::string&)> observer_;
  std::string phase_;
  JournalOptions options_;
  std::function<void()> on_flush_;
  wire::SecretKey key_ = wire::SecretKey::generate();
  std::optional<GatewayEvents> gateway_;  // none: payloads that mean nothing, and bases that keep all
  std::uint64_t events_ = 0;
  std::uint64_t puts_ = 0;
  bool struck_in_recovery_ = false;
  bool over_ = false;  // this life ends by its own failure or will
  SimulatedDisk::Image old_image_;
};

}  // namespace postern::ledger::sim
