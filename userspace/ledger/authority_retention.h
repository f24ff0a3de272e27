// SPDX-License-Identifier: Apache-2.0
// Which events of the authority a compacted journal has to keep (SPEC 5.3): as few as give the same state.
#pragma once

#include <span>
#include <vector>

#include "core/result.h"
#include "ledger/authority_log.h"
#include "ledger/event.h"

namespace postern::ledger {

// One flag for each of `events`, which are a journal's events in order from its beginning, of any kind.
// Folding only those whose flag is set, in the same order, comes to the same AuthorityState as folding all,
// and so does folding both with the same events after them. Events of other kinds are not needed for it.
// Fails with errc::event_invalid on a malformed body.
Result<std::vector<bool>> authority_events_needed(std::span<const Event> events);

}  // namespace postern::ledger
