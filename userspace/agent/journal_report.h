// SPDX-License-Identifier: Apache-2.0
// What the control socket tells and does about the journal (SPEC 7.6).
#pragma once

#include "agent/foundation.h"
#include "core/result.h"
#include "wire/json.h"

namespace postern::agent {

// Durable events from {"next"} on, {"limit"} at most; with {"hash","journal"} of a page before, after it or,
// as "reset" says then, from the beginning: {"at_end","base","events":[{"event","lseq"}],"hash","head",
// "head_hash","journal","missing","next","reset"}.
Result<wire::Json> journal_page(const ledger::Journal& journal, const wire::Json& arguments);

// Compacts now; says what that came to.
Result<wire::Json> compact_journal(Foundation& base, const Clock& clock);

// An operator's word that what may be missing is given up: durable, then grants are spent from again. Claims
// wait on (SPEC 4.12). errc::nothing_to_settle when nothing holds spending back.
Result<wire::Json> settle_journal(Foundation& base);

}  // namespace postern::agent
