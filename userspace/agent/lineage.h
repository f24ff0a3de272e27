// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/state_directory.h"
#include "core/result.h"
#include "dataplane/journal_pin.h"
#include "ledger/authority_log.h"
#include "ledger/continuity.h"
#include "ledger/journal.h"
#include "ledger/replica.h"
#include "ledger/stream_history.h"
#include "wire/sign.h"

namespace postern::agent {

// The opened journal and what its records told.
struct Lineage {
  std::unique_ptr<ledger::Journal> journal;
  ledger::AuthorityState authority;
  ledger::StreamHistory history{wire::PublicKey{}};
  ledger::Replica replica{""};  // started once the own stream is open
  std::string broken;  // why the own stream must not be gone on with; "" when the journal knows of nothing
  std::optional<Error> went_back;  // what told that the kernel was served from more than the disk knows
  bool pinned = false;             // the kernel's pin was there, and is of a record of this journal
};

struct LineageOrder {
  StateDirectory state;
  std::string mesh;
  // The node's own. None: its stream is not looked for, and its base not compared (`posternd --detach`).
  std::optional<wire::PublicKey> key;
  std::filesystem::path pins;  // of the data path that was served from this journal
  // A recovery bundle lies at hand: a disk that went back is told in the lineage and not refused.
  bool may_recover = false;
  std::function<void(const ledger::JournalStatus&)> after_flush;
};

// Takes the journal's lock, then reads: no other agent can write from here on. Refuses the journal of another
// mesh, and one that the kernel's pin is ahead of, before a byte is changed.
Result<Lineage> open_lineage(LineageOrder order);

// Whether the own stream may be gone on with (SPEC 4.12).
ledger::Continuation continuation_of(const Lineage& lineage);

// Why this gateway may have forgotten something: neither spends nor claims before a sync round.
std::string restraint_words(const Lineage& lineage);

}  // namespace postern::agent
