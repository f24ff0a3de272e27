// SPDX-License-Identifier: Apache-2.0
// What the control socket tells and does about the journal (SPEC 7.6).
#pragma once

#include "agent/foundation.h"
#include "core/result.h"
#include "wire/json.h"

namespace postern::agent {

// Durable events from {"next"} on, {"limit"} at most:
// {"at_end","base","events":[{"event","lseq"}],"head",
// "head_hash","journal","missing","next"}.
Result<wire::Json> journal_page(const ledger::Journal& journal, const wire::Json& arguments);

// Compacts now; says what that came to.
Result<wire::Json> compact_journal(Foundation& base, const Clock& clock);

}  // namespace postern::agent
