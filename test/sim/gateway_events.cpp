// SPDX-License-Identifier: Apache-2.0
#include "sim/gateway_events.h"

#include "ledger/skeleton.h"

namespace postern::ledger::sim {
namespace {

AuthorityState state_of(std::span<const std::string> payloads) {
  AuthorityState state;
  for (const std::string& payload : payloads)
    if (const Result<Event> event = read_event(payload)) (void)apply_event(state, *event);
  return state;
}

}  // namespace

std::vector<std::string> GatewayEvents::batch(std::size_t most_bytes) {
  std::vector<std::string> batch(random_.between(1, 3));
  for (std::string& payload : batch)
    payload = next(most_bytes);
  return batch;
}

void GatewayEvents::told(bool taken) {
  if (taken)
    taken_ = at_;
  else
    at_ = taken_;
}

std::string GatewayEvents::next(std::size_t most_bytes) {
  AuthorityEvent body = history_.next();
  if (auto* seen = std::get_if<TimestampSeen>(&body)) seen->document.append(random_.below(most_bytes), 'd');
  const Draft draft = at_.seq == Seq() ? Draft{"StreamOpened", wire::Json::object({{"predecessor", nullptr}})}
                                       : draft_of(body);
  Event event;
  event.mesh = "m";
  event.stream = Id128{1};
  event.seq = at_.seq.next();
  event.prev = at_.prev;
  event.lamport = Lamport(event.seq.value);
  event.key = key_.public_key();
  event.kind = draft.kind;
  event.body = draft.body;
  std::string sealed = seal_event(event, key_);
  at_ = {event.seq, event_hash(sealed)};
  return sealed;
}

std::string GatewayEvents::go_on(std::span<const std::string> whole, const std::vector<Record>& found,
                                 const Base* base) {
  StreamHistory history(key_.public_key());
  std::vector<std::string> shown;
  std::size_t kept = 0;
  for (const Record& record : found) {
    const Result<Event> event = open_event(record.payload);
    if (!event) return "an event whose signature is wrong: " + event.error().message();
    if (Result<> added = history.add(*event, record); !added) return added.error().message();
    shown.push_back(record.payload);
    // What its author has not summed up stays (SPEC 5.7), and this one sums nothing up.
    kept += record.from_base && !is_condensable(event->kind);
  }
  if (Result<> finished = history.finish(base); !finished) return finished.error().message();
  if (kept > kMostKept) return "a base keeps " + std::to_string(kept) + " events";
  const std::string owed = testing::text_of(state_of(whole));
  if (const std::string told = testing::text_of(state_of(shown)); told != owed)
    return "the authority is told as " + told + ", was " + owed;
  at_ = {};
  if (history.own()) at_ = {history.own()->seq, history.own()->hash};
  taken_ = at_;
  const Place last = whole.empty() ? Place() : Place{read_event(whole.back())->seq, event_hash(whole.back())};
  return at_ == last ? "" : "the stream goes on after seq " + std::to_string(at_.seq.value);
}

}  // namespace postern::ledger::sim
