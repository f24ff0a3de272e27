// SPDX-License-Identifier: Apache-2.0
#include "ledger/summary.h"

#include <algorithm>

#include "ledger/event_kinds.h"
#include "wire/fields.h"

namespace postern::ledger {
namespace {

constexpr std::size_t kFewestLookedThrough = 1024;

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

EventSummary::EventSummary(Rules rules, const wire::PublicKey& own)
    : rules_(std::move(rules)), lineage_(own), drop_at_(kFewestLookedThrough) {
  for (const std::unique_ptr<Retention>& rule : rules_)
    for (const std::string& kind : rule->kinds())
      rule_by_kind_.emplace(kind, rule.get());
}

Result<> EventSummary::start(const BaseState& earlier) {
  state_.streams = earlier.streams;
  state_.floors = earlier.floors;
  state_.spend = earlier.spend;
  state_.claims = earlier.claims;
  for (const KeptEvent& kept : earlier.events)
    if (Result<> taken = take(kept, false, true); !taken) return taken;
  return {};
}

Result<> EventSummary::add(const Record& record) {
  return take({record.lseq, record.hash, record.payload}, false, false);
}

Result<bool> EventSummary::rescue(const Record& record) {
  if (!open_event(record.payload)) return false;
  if (Result<> taken = take({record.lseq, record.hash, record.payload}, true, true); !taken)
    return pass_on(std::move(taken));
  return true;
}

Result<> EventSummary::take(KeptEvent kept, bool rescued, bool from_base) {
  // Verified when it was journaled or replayed; the chain vouches for it since.
  Result<Event> event = read_event(kept.payload);
  const std::string where = "record " + std::to_string(kept.lseq.value);
  if (!event) return pass_on(std::move(event), where);
  const bool own = lineage_.wrote(*event, from_base);
  if (own) raise_floors(state_.floors, event->body);
  const StreamSummary::Stands stands =
      streams_.see(kept.lseq, *event, event_hash(kept.payload), kept.payload.size(), from_base && !rescued);
  const auto known = rule_by_kind_.find(event->kind);
  Retention* rule = known == rule_by_kind_.end() ? nullptr : known->second;
  if (rule != nullptr) {
    if (!own) rule = &of_others_;
    if (Result<> seen = rule->see(kept.lseq, *event); !seen) return pass_on(std::move(seen), where);
  }
  if (event->kind == kStreamCondensed) rule = &of_others_;
  if (rescued || stands == StreamSummary::Stands::behind_hole) rule = nullptr;
  judged_.push_back({rule, {event->stream, event->seq}});
  state_.events.push_back(std::move(kept));
  if (state_.events.size() >= drop_at_) drop_unneeded();
  return {};
}

// Kinds without a rule stay whole: what nobody here understands, somebody may need.
void EventSummary::drop_unneeded() {
  std::map<const Retention*, std::set<Lseq>> needed;
  for (const std::unique_ptr<Retention>& rule : rules_)
    needed[rule.get()] = rule->needed();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < judged_.size(); ++i) {
    const auto& [rule, id] = judged_[i];
    const Lseq at = state_.events[i].lseq;
    if (rule != nullptr && !needed[rule].contains(at) && !streams_.holds(at, id)) continue;
    judged_[kept] = judged_[i];
    if (kept != i) state_.events[kept] = std::move(state_.events[i]);
    ++kept;
  }
  judged_.resize(kept);
  state_.events.resize(kept);
  drop_at_ = std::max(kFewestLookedThrough, 2 * kept);
}

Result<BaseState> EventSummary::finish() {
  drop_unneeded();
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
