// SPDX-License-Identifier: Apache-2.0
#include "ledger/event_standing.h"

namespace postern::ledger {

std::string_view standing_name(EventStanding standing) {
  switch (standing) {
    case EventStanding::counts:
      return "counts";
    case EventStanding::forked:
      return "forked";
    case EventStanding::waiting:
      return "waiting";
  }
  return "";
}

EventStanding standing_of(const Fold& fold, const Event& event, const Hash256& hash) {
  switch (fold.place(event, hash)) {
    case Place::known:
    case Place::compacted:  // what a base keeps in front of the first event that is known one by one
      return EventStanding::counts;
    case Place::excluded:
      return EventStanding::forked;
    default:
      return EventStanding::waiting;
  }
}

}  // namespace postern::ledger
