// SPDX-License-Identifier: Apache-2.0
// What the control socket tells of events (SPEC 5.6): pages of the journal, with what each event amounts to.
#pragma once

#include <map>
#include <string>

#include "core/result.h"
#include "ledger/journal.h"
#include "ledger/replica.h"
#include "wire/json.h"
#include "wire/sign.h"

namespace postern::agent {

// Names of nodes by their keys.
using NodeNames = std::map<wire::PublicKey, std::string>;

struct EventSource {
  const ledger::Journal* journal;
  const ledger::Replica* replica;
  const NodeNames* names;
};

// Answers `events`: the durable events behind {"cursor"}, or from the beginning, that the filters let
// through,
// {"limit"} at most, and the cursor to go on with; a bounded part of the journal is looked at, so a page may
// be empty though more lies behind it. A cursor that leads nowhere is events.unknown_journal or
// events.history_changed, never a page.
Result<wire::Json> events_page(const EventSource& source, const wire::Json& arguments);

}  // namespace postern::agent
