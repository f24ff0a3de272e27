// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/state_directory.h"
#include "core/bytes.h"
#include "ledger/authority_log.h"
#include "ledger/event.h"
#include "ledger/journal.h"

namespace postern::agent {

// The opened journal and what its events told.
struct Lineage {
  std::unique_ptr<ledger::Journal> journal;
  ledger::AuthorityState authority;
  std::vector<ledger::Event> events;
  std::map<Lseq, Hash256> hashes;  // chain hashes of the replayed records
};

// Takes the journal's lock, then reads: no other agent can write from here on. Refuses the journal of another
// mesh.
Result<Lineage> open_lineage(const StateDirectory& state, const std::string& mesh,
                             std::function<void(const ledger::JournalStatus&)> after_flush);

// The events that `key` wrote, in order.
std::vector<ledger::Event> events_by(const Lineage& lineage, const wire::PublicKey& key);

}  // namespace postern::agent
