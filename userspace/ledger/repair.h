// SPDX-License-Identifier: Apache-2.0
// Serving again after DAMAGE, or after a disk that cannot read what was acknowledged (SPEC 4.6 rule 11).
// Nothing is written into the old segments. A new signed base stands for all that was whole before the loss,
// keeps each whole event found behind it, and names what is missing as open gaps; a new segment after it
// takes the journal on.
#pragma once

#include <cstdint>
#include <vector>

#include "ledger/base.h"
#include "ledger/directory.h"
#include "ledger/journal.h"
#include "ledger/summary.h"
#include "wire/sign.h"

namespace postern::ledger {

struct RepairOrder {
  const wire::SecretKey& key;  // the node's: signs the base
  Summary& summary;
  std::int64_t now_ms = 0;
  // The first record whose loss the operator accepts: must be the first bad one that a scan names. Asked for,
  // so that nobody accepts a loss that he has not seen.
  Lseq accept_loss_from;
  // Highest record that may have been acknowledged, as others know it (the kernel's pin); the gap reaches up
  // to it.
  Lseq known_head;
};

struct RepairReport {
  std::uint64_t base = 0;     // number of the new base and segment
  std::vector<Gap> gaps;      // all open
  std::uint64_t rescued = 0;  // whole events behind the first loss that were kept
};

// Takes the lock first. Opens no journal: the next Journal::open() finds it CLEAN, with open gaps.
// Idempotent: killed at any point, it is done again or was done. Errors: errc::nothing_to_repair (clean, torn
// or suspect: an agent starts on it), errc::fork (no automatic repair), errc::wrong_loss for another
// `accept_loss_from` than the scan's.
Result<RepairReport> repair_journal(const JournalOptions& options, const RepairOrder& order);
Result<RepairReport> repair_journal(Directory& directory, const JournalOptions& options,
                                    const RepairOrder& order);

}  // namespace postern::ledger
