// SPDX-License-Identifier: Apache-2.0
#include "sync/outbox.h"

#include <algorithm>

#include "ledger/skeleton.h"
#include "sync/limits.h"

namespace postern::sync {

bool Outbox::take(const Credit& credit) {
  const bool begun = credit.session != session_;
  if (begun) {
    session_ = credit.session;
    sent_bytes_ = 0;
    allowed_bytes_ = 0;
  }
  allowed_bytes_ = std::max(allowed_bytes_, credit.total_bytes);
  return begun;
}

void Outbox::tell_all() {
  all_due_ = true;
  marks_due_.clear();
  spans_due_.clear();
  skipped_.clear();
}

void Outbox::restart() {
  credit_due_.reset();
  all_due_ = false;
  spans_due_.clear();
  marks_due_.clear();
  expands_.clear();
  wants_.clear();
  skips_.clear();
  skipped_.clear();
  wants_served_.clear();
}

void Outbox::expand(const Expand& asked) {
  for (const Span& span : asked.spans)
    if (spans_due_.size() < kMaxRanges) spans_due_.push_back(span);
}

void Outbox::serve(const Want& asked) {
  std::erase_if(wants_served_, [&](const Want& earlier) { return earlier.stream == asked.stream; });
  if (wants_served_.size() < kMaxWantsServed) wants_served_.push_back(asked);
}

void Outbox::ask(const Want& asked) {
  if (wants_.size() < kMaxWalks || wants_.count(asked.stream) != 0) wants_[asked.stream] = asked;
}

void Outbox::skip(const Skip& said) {
  Seq& told = skipped_[said.stream];
  if (told == said.available) return;
  told = said.available;
  skips_[said.stream] = said;
}

// ---- a round

bool Outbox::has_room(const Round& round, std::size_t message_bytes) const {
  return round.open && round.sealed_bytes + mesh::sealed_bytes(message_bytes) <= kRoundBytes;
}

bool Outbox::put(Round& round, ByteView message) {
  if (!has_room(round, message.size())) return false;
  round.open = round.send(message);
  if (round.open) round.sealed_bytes += mesh::sealed_bytes(message.size());
  return round.open;
}

bool Outbox::put(Round& round, const Message& message) {
  return put(round, encode(message));
}

void Outbox::round(std::uint64_t now_ns, const Send& send) {
  Round round{send, now_ns};
  put_credit(round);
  put_marks(round);
  put_notes(round);
  answer_wants(round);
  put_events(round);
}

void Outbox::put_credit(Round& round) {
  if (credit_due_ && put(round, *credit_due_)) credit_due_.reset();
}

void Outbox::put_marks(Round& round) {
  std::size_t budget_bytes = kRoundMarksBytes;
  // Changes come behind the whole that they change.
  put_whole(round, budget_bytes);
  if (!all_due_ && spans_due_.empty()) put_changes(round, budget_bytes);
}

// The first of what is asked for goes out whatever its size: there is room for any marks in a round.
void Outbox::put_whole(Round& round, std::size_t& budget_bytes) {
  if (all_due_) {
    const bool few = marks_.size() <= kMarksARound;
    const Message all =
        few ? Message(Marks{true, kAllStreams, marks_.within(kAllStreams)}) : Message(marks_.ranges());
    const Bytes message = encode(all);
    if (!put(round, message)) return;
    all_due_ = false;
    budget_bytes -= std::min(budget_bytes, message.size());
  }
  for (bool first = true; !spans_due_.empty(); first = false) {
    const Bytes message = encode(Marks{true, spans_due_.front(), marks_.within(spans_due_.front())});
    if (!first && message.size() > budget_bytes) return;
    if (!put(round, message)) return;
    spans_due_.pop_front();
    budget_bytes -= std::min(budget_bytes, message.size());
  }
}

void Outbox::put_changes(Round& round, std::size_t& budget_bytes) {
  const std::size_t room =
      budget_bytes < kMarksHeadBytes + kMarkBytes ? 0 : (budget_bytes - kMarksHeadBytes) / kMarkBytes;
  Marks changed;
  for (const Id128& stream : marks_due_) {
    if (changed.marks.size() == room) break;
    if (const StreamMark* const mark = marks_.find(stream); mark != nullptr) changed.marks.push_back(*mark);
  }
  if (changed.marks.empty() || !put(round, changed)) return;
  marks_due_.erase(marks_due_.begin(), marks_due_.upper_bound(changed.marks.back().stream));
}

void Outbox::put_notes(Round& round) {
  while (!expands_.empty() && put(round, expands_.front()))
    expands_.pop_front();
  for (std::size_t said = 0; said < kNotesARound && !wants_.empty(); ++said) {
    if (!put(round, wants_.begin()->second)) return;
    wants_.erase(wants_.begin());
  }
  for (std::size_t said = 0; said < kNotesARound && !skips_.empty(); ++said) {
    if (!put(round, skips_.begin()->second)) return;
    skips_.erase(skips_.begin());
  }
}

Seq Outbox::put_turn(Round& round, const Id128& stream, Seq first, Seq last) {
  Events events{session_, stream, first, {}};
  std::vector<std::string> sealed;
  std::size_t bytes = kEventsHeadBytes;
  for (Seq seq = first; seq <= last; seq = seq.next()) {
    Result<std::optional<std::string>> event = replica_.read(stream, seq);
    if (!event || !*event) break;
    bytes += kEventHeadBytes + (*event)->size();
    if (bytes > kMaxEventsBytes || bytes > credit_bytes() || !has_room(round, bytes)) break;
    sealed.push_back(std::move(**event));
  }
  if (sealed.empty()) return Seq();
  events.sealed.assign(sealed.begin(), sealed.end());
  const Bytes message = encode(events);
  if (!put(round, message)) return Seq();
  sent_bytes_ += message.size();
  events_out_ += sealed.size();
  return Seq(first.value + sealed.size() - 1);
}

// The event, if a step up to `to` needs it: "" if not. None: it is not there.
std::optional<std::string> Outbox::read_kept(const Id128& stream, Seq seq, Seq to) {
  Result<std::optional<std::string>> sealed = replica_.read(stream, seq);
  if (!sealed || !*sealed) return std::nullopt;
  const Result<ledger::Event> event = ledger::read_event(**sealed);
  if (!event) return std::nullopt;
  if (seq != to && ledger::is_condensable(event->kind)) return std::string();
  return std::move(**sealed);
}

Seq Outbox::put_step(Round& round, const PeerView::Turn& turn) {
  std::vector<std::string> sealed;
  std::size_t bytes = kStepHeadBytes;
  Seq last;
  while (last < turn.last) {
    const Seq from = last == Seq() ? turn.first : last.next();
    const std::optional<Seq> seq = replica_.index().next_at(turn.stream, from);
    if (!seq || *seq > turn.last) return Seq();
    std::optional<std::string> event = read_kept(turn.stream, *seq, turn.last);
    if (!event) return Seq();
    if (!event->empty()) {
      bytes += kEventHeadBytes + event->size();
      if (bytes > kMaxEventsBytes || bytes > credit_bytes() || !has_room(round, bytes)) break;
      sealed.push_back(std::move(*event));
    }
    last = *seq;
  }
  if (sealed.empty()) return last;
  Step step{session_, turn.stream, turn.last, turn.begins, last == turn.last, {}};
  step.sealed.assign(sealed.begin(), sealed.end());
  const Bytes message = encode(step);
  if (!put(round, message)) return Seq();
  sent_bytes_ += message.size();
  events_out_ += sealed.size();
  return last;
}

// Less than the largest event's credit waits for more, whatever the next event's size.
void Outbox::put_events(Round& round) {
  while (has_room(round, kMaxEventsBytes)) {
    const std::optional<PeerView::Turn> turn =
        credit_bytes() >= kMaxEventsBytes ? view_.next_turn(round.now_ns) : std::nullopt;
    if (!turn) return;
    const Seq last =
        turn->step ? put_step(round, *turn) : put_turn(round, turn->stream, turn->first, turn->last);
    if (!round.open) return;
    if (last != Seq())
      view_.sent(turn->stream, last, round.now_ns);
    else
      view_.put_off(turn->stream, round.now_ns);
  }
}

void Outbox::answer_wants(Round& round) {
  std::size_t left = std::min(wants_served_.size(), kWantsServedARound);
  for (; left > 0 && has_room(round, 2 * kMaxEventsBytes); --left) {
    if (credit_bytes() < kMaxEventsBytes) return;
    Want want = wants_served_.front();
    const ledger::StreamState* const state = replica_.fold().find(want.stream);
    const Seq head = state == nullptr ? Seq() : state->head;
    const Seq last =
        want.first > head ? Seq() : put_turn(round, want.stream, want.first, std::min(want.last, head));
    if (!round.open) return;
    wants_served_.pop_front();
    if (last == Seq() || last >= want.last) continue;
    want.first = last.next();
    wants_served_.push_back(want);
  }
}

}  // namespace postern::sync
