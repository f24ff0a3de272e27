// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/bytes.h"
#include "ledger/event.h"
#include "ledger/fold.h"

namespace postern::ledger {

// Whether an event that stands in the journal is part of what its stream adds up to (SPEC 5.6). A fork that
// is proven later takes back what counted: that is told by a StreamForked further on.
enum class EventStanding {
  counts,
  forked,   // at or behind a proven fork of its stream
  waiting,  // events of its stream before it are missing, or another one counts at its place
};

std::string_view standing_name(EventStanding standing);

// `hash` is event_hash() of the sealed event.
EventStanding standing_of(const Fold& fold, const Event& event, const Hash256& hash);

}  // namespace postern::ledger
