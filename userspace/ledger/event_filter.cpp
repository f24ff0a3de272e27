// SPDX-License-Identifier: Apache-2.0
#include "ledger/event_filter.h"

#include <algorithm>

namespace postern::ledger {
namespace {

template <class Value>
bool one_of(const std::vector<Value>& wanted, const Value& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

template <class Value>
bool within(const std::optional<Value>& from, const Value& value, const std::optional<Value>& to) {
  return (!from || *from <= value) && (!to || value <= *to);
}

}  // namespace

bool matches(const EventFilter& filter, const Event& event) {
  return one_of(filter.kinds, event.kind) && one_of(filter.authors, event.key) &&
         (!filter.stream || *filter.stream == event.stream) &&
         within(filter.since, event.lamport, filter.until) &&
         within(filter.since_ms, event.at_ms, filter.until_ms);
}

}  // namespace postern::ledger
