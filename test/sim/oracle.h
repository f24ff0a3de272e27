// SPDX-License-Identifier: Apache-2.0
// What a journal owes after a crash (SPEC 4.11): remembers what was handed to it and what it acknowledged,
// and judges what a start brings back. What it says is a violation, or empty.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ledger/journal.h"

namespace postern::ledger::sim {

// What was done to the disk that no journal can make good; it must be said then, not hidden.
enum class Harm {
  none,       // crashes, failed calls, a full disk: nothing acknowledged may be missing
  flipped,    // a bit at rest: what is missing must be a tail, and the start must have said "suspect"
  old_image,  // an earlier state of the whole disk: what is missing must be told by the pin
};

class Oracle {
 public:
  // A batch goes in: from now on it may be found or not.
  void submit(std::span<const std::string> payloads);
  // Nothing of the oldest batch that was not acknowledged can have been written.
  void withdraw();
  // The oldest batch that was not acknowledged yet is durable.
  std::string acknowledge(Lseq head);
  // after_flush: what the kernel's pin holds.
  void pin(const JournalStatus& status);

  void put(const std::string& name, const std::string& content);
  void put_acknowledged(const std::string& name);

  // From now on a base may leave out what no replay needs; whoever reads judges that (gateway_events.h).
  void allow_compacted() { compacted_ = true; }

  // After a successful start. What it shows is owed from then on; what it does not show must not come back.
  std::string judge_start(std::vector<Record> found, const Journal& journal, Harm harm);

  // All events that the journal owes, compacted ones too, in order.
  const std::vector<std::string>& settled() const { return settled_; }

 private:
  struct SideFile {
    std::optional<std::string> settled;
    std::vector<std::string> unsettled;
  };

  std::string judge_events(const std::vector<Record>& found, const RecoveryReport& report, Harm harm) const;
  std::string judge_chain(const std::vector<Record>& found) const;
  std::string judge_side_files(const Journal& journal, Harm harm);

  std::string restore_compacted(std::vector<Record>& found, const Base* base) const;

  std::vector<std::string> settled_;  // acknowledged, or shown by a start
  std::vector<Lseq> settled_at_;      // one for one
  bool compacted_ = false;
  std::deque<std::vector<std::string>> in_flight_;
  Lseq head_;            // highest that was acknowledged or shown
  Lseq first_unproven_;  // of the last start
  Lseq pin_;
  std::map<std::string, SideFile> side_files_;
};

}  // namespace postern::ledger::sim
