// SPDX-License-Identifier: Apache-2.0
// Going back to the snapshot before (SPEC 3.9): a local override that only ever denies more than what the
// authority signed. Pure.
#pragma once

#include "authority/adoption_rules.h"
#include "authority/snapshot.h"

namespace postern::authority {

// May `kept` be served again in place of `newest`, which was adopted after it? Fails with
// errc::rollback_refused across a root change, and when `kept` has expired.
Result<> may_roll_back(const Candidate& kept, const Candidate& newest, UtcSeconds now);

// `kept` as far as `newest` has not revoked it: peers and gateways that `newest` revokes or no longer has are
// revoked, and the epoch floors are those of `newest`.
Snapshot rolled_back(Snapshot kept, const Snapshot& newest);

}  // namespace postern::authority
