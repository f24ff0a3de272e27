// SPDX-License-Identifier: Apache-2.0
#include "ledger/summary.h"

#include <algorithm>

#include "wire/fields.h"

namespace postern::ledger {
namespace {

// A body's {"floors":{resource:epoch}}, whichever kind carries it: floors only rise.
void raise_floors(std::map<std::string, Epoch>& floors, const wire::Json& body) {
  const wire::Json* found = body.find("floors");
  const wire::Json::Object* members = found != nullptr ? found->as_object() : nullptr;
  if (members == nullptr) return;
  for (const auto& [resource, value] : *members) {
    wire::Fields fields(*found, "floors");
    const Epoch epoch(fields.decimal(resource));
    Epoch& floor = floors[resource];
    floor = std::max(floor, epoch);
  }
}

}  // namespace

Result<> EventSummary::start(const BaseState& earlier) {
  state_.streams = earlier.streams;
  state_.floors = earlier.floors;
  state_.spend = earlier.spend;
  state_.claims = earlier.claims;
  for (const KeptEvent& kept : earlier.events)
    if (Result<> taken = take(kept); !taken) return taken;
  return {};
}

Result<> EventSummary::add(const Record& record) {
  return take({record.lseq, record.hash, record.payload});
}

Result<bool> EventSummary::rescue(const Record& record) {
  if (!open_event(record.payload)) return false;
  if (Result<> taken = add(record); !taken) return pass_on(std::move(taken));
  return true;
}

Result<> EventSummary::take(KeptEvent kept) {
  // Verified when it was journaled or replayed; the chain vouches for it since.
  Result<Event> event = read_event(kept.payload);
  if (!event) return pass_on(std::move(event), "record " + std::to_string(kept.lseq.value));
  raise_floors(state_.floors, event->body);
  behind_hole_.push_back(!advance(*event, kept.payload));
  events_.push_back(std::move(*event));
  state_.events.push_back(std::move(kept));
  return {};
}

// False for an event behind a hole in its stream: it is kept until the hole is filled.
bool EventSummary::advance(const Event& event, std::string_view payload) {
  const auto known = state_.streams.find(event.stream);
  const Seq next = known == state_.streams.end() ? Seq(1) : known->second.seq.next();
  if (event.seq < next) return true;
  if (event.seq > next) return false;
  StreamHead& head = state_.streams[event.stream];
  head = {event.key, event.seq, event_hash(payload), std::max(head.lamport, event.lamport)};
  return true;
}

// Kinds without a rule stay whole: what nobody here understands, somebody may need.
Result<std::vector<bool>> EventSummary::judge() {
  std::vector<bool> keep(events_.size(), true);
  for (const Rule& rule : rules_) {
    std::vector<std::size_t> places;
    std::vector<Event> of_rule;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (std::find(rule.kinds.begin(), rule.kinds.end(), events_[i].kind) == rule.kinds.end()) continue;
      places.push_back(i);
      of_rule.push_back(events_[i]);
    }
    Result<std::vector<bool>> needed = rule.needed(of_rule);
    if (!needed) return needed;
    for (std::size_t i = 0; i < places.size(); ++i)
      keep[places[i]] = i >= needed->size() || (*needed)[i] || behind_hole_[places[i]];
  }
  return keep;
}

Result<BaseState> EventSummary::finish() {
  const Result<std::vector<bool>> keep = judge();
  if (!keep) return tl::unexpected<Error>(keep.error());
  std::vector<KeptEvent> kept;
  for (std::size_t i = 0; i < keep->size(); ++i)
    if ((*keep)[i]) kept.push_back(std::move(state_.events[i]));
  state_.events = std::move(kept);
  return std::move(state_);
}

Result<> KeepEverything::start(const BaseState& earlier) {
  state_ = earlier;
  state_.findings.clear();
  state_.gaps.clear();
  return {};
}

Result<> KeepEverything::add(const Record& record) {
  state_.events.push_back({record.lseq, record.hash, record.payload});
  return {};
}

Result<bool> KeepEverything::rescue(const Record& record) {
  if (Result<> added = add(record); !added) return pass_on(std::move(added));
  return true;
}

Result<BaseState> KeepEverything::finish() {
  return std::move(state_);
}

}  // namespace postern::ledger
