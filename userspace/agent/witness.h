// SPDX-License-Identifier: Apache-2.0
// Watches what the authority says about its own history: timestamps, and proof that it said two things
// (SPEC 3.4, 3.6). What it finds is journaled before anybody hears of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/authority_record.h"
#include "agent/snapshot_files.h"
#include "authority/adoption_rules.h"
#include "authority/timestamp.h"
#include "core/result.h"

namespace postern::agent {

class Witness {
 public:
  // All must outlive this.
  Witness(AuthorityRecord& record, SnapshotFiles& files, std::string mesh)
      : record_(&record), files_(&files), mesh_(std::move(mesh)) {}

  // Verifies and journals a signed timestamp. One that vouches for another snapshot than was adopted under
  // its serial is kept as proof of equivocation, and fails. One that was seen already succeeds and writes
  // nothing.
  Result<> see_timestamp(std::string_view file, UtcSeconds wall);

  // Fails with errc::equivocation when the candidate, which the trusted root signed, contradicts what this
  // gateway has seen under its serial; both are kept as proof then. Fails with errc::conflict while an
  // earlier proof stands and this is no `recovery`, and with errc::refused for what was rolled back.
  Result<> judge(const authority::Candidate& candidate, std::string_view file, bool recovery);

 private:
  std::optional<ledger::SnapshotId> contradicted_by(const ledger::SnapshotId& id) const;
  Result<> keep_proof(const ledger::AuthorityEquivocated& proof);

  AuthorityRecord* record_;
  SnapshotFiles* files_;
  std::string mesh_;
};

// The journaled timestamp as the rules take it.
std::optional<authority::Timestamp> last_timestamp(const ledger::AuthorityState& state);

}  // namespace postern::agent
