// SPDX-License-Identifier: Apache-2.0
// What somebody asks to be shown of the events (SPEC 5.6, 7.2). Pure.
#pragma once

#include <map>
#include <string>

#include "core/result.h"
#include "ledger/event_filter.h"
#include "ledger/pages.h"
#include "wire/json.h"
#include "wire/sign.h"

namespace postern::agent {

inline constexpr std::int64_t kMaxEventsAPage = 1000;

struct EventQuestion {
  ledger::Cursor from;
  std::size_t limit = kMaxEventsAPage;
  ledger::EventFilter filter;
};

// Reads the arguments of `events`; `names` are those by which authors may be asked for, beside their keys.
// journal.cursor_invalid or control.bad_argument, saying what was expected instead.
Result<EventQuestion> read_event_question(const wire::Json& arguments,
                                          const std::map<wire::PublicKey, std::string>& names);

}  // namespace postern::agent
