// SPDX-License-Identifier: Apache-2.0
// What recoveries found and nobody has settled yet (SPEC 4.6): carried from start to start by OPEN records,
// by bases, and ended by SETTLED records.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "ledger/base.h"
#include "ledger/record.h"

namespace postern::ledger {

// Whose word a SETTLED record is.
enum class SettledBy {
  sync_round,   // nothing is missing any more, or was never there
  an_operator,  // what may be missing is given up
};

// Payloads of OPEN and SETTLED.
std::string open_payload(std::string_view condition, Lseq first_unproven, std::uint64_t kept);
std::string settled_payload(Lseq through, SettledBy by);

class Findings {
 public:
  Findings() = default;
  explicit Findings(const BaseState& base) : findings_(base.findings), gaps_(base.gaps) {}

  // Any record; events change nothing. Fails with errc::damage on a payload that this program never wrote.
  Result<> see(const Record& record);

  const std::vector<Finding>& open_findings() const { return findings_; }
  const std::vector<Gap>& gaps() const { return gaps_; }  // settled ones too
  std::vector<Gap> open_gaps() const;
  // Something acknowledged may be missing, and nobody has given it up.
  bool needs_sync_round() const;
  // Likewise, given up or not: an operator cannot answer for what others hold.
  bool claims_wait() const;

 private:
  std::vector<Finding> findings_;
  std::vector<Gap> gaps_;
};

}  // namespace postern::ledger
