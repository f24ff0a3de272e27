// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "authority/adoption_rules.h"
#include "core/result.h"
#include "ledger/authority_log.h"
#include "ledger/journal.h"

namespace postern::agent {

// The signed snapshots beside the journal: auth-SERIAL-HASH (SPEC 4.1).
class SnapshotFiles {
 public:
  // `journal` must outlive this.
  SnapshotFiles(ledger::Journal& journal, std::string mesh) : journal_(&journal), mesh_(std::move(mesh)) {}

  // Durable on return.
  Result<> put(const ledger::SnapshotId& id, std::string_view file);
  // Verified with `root` before it is parsed. When the file is damaged but an unfinished copy beside it is
  // whole, that one is taken and put in its place. errc::snapshot_changed when it is another one than its
  // name says.
  Result<authority::Candidate> get(const ledger::SnapshotId& id, const authority::Root& root) const;
  // Removes all that neither the adopted snapshot, nor the one before it, nor a conflict needs.
  Result<> prune(const ledger::AuthorityState& state);

 private:
  Result<authority::Candidate> read(const std::string& name, const ledger::SnapshotId& id,
                                    const authority::Root& root, std::string& file) const;

  ledger::Journal* journal_;
  std::string mesh_;
};

}  // namespace postern::agent
