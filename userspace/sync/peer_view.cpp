// SPDX-License-Identifier: Apache-2.0
#include "sync/peer_view.h"

#include <algorithm>

#include "sync/limits.h"

namespace postern::sync {
namespace {

bool holds(const Span& span, const Id128& stream) {
  return span.after < stream && stream <= span.last;
}

// Those that it told of, and those of ours that it did not.
constexpr std::size_t kMaxStreamsTold = 2 * ledger::kMaxStreams;

std::uint64_t stall_ns(unsigned stalls) {
  return std::min(kFirstStall_ns << std::min(stalls, 8U), kLastStall_ns);
}

}  // namespace

// Each gateway begins elsewhere, so that a newcomer gets different streams from different peers.
PeerView::PeerView(const ledger::Replica& replica, const wire::PublicKey& own)
    : replica_(&replica), own_(own) {
  std::copy_n(own.bytes.begin(), turn_.size(), turn_.begin());
}

StreamMark PeerView::mark(const Id128& stream) const {
  const auto found = entries_.find(stream);
  if (found == entries_.end()) return {stream, Seq(), {}, Seq()};
  return {stream, found->second.seq, found->second.head, found->second.fork};
}

void PeerView::set(const StreamMark& mark) {
  Entry& entry = entries_[mark.stream];
  const bool went_on = mark.seq > entry.seq;
  const bool went_back = mark.seq < entry.seq || mark.head != entry.head;
  if (went_on) entry.stalls = 0;
  if (entry.next <= mark.seq || (went_back && !went_on)) entry.next = mark.seq.next();
  entry.seq = mark.seq;
  entry.head = mark.head;
  entry.fork = mark.fork;
}

std::optional<std::vector<Id128>> PeerView::take(const Marks& marks) {
  std::vector<Id128> changed;
  if (marks.whole) {
    const auto begin = entries_.upper_bound(marks.span.after);
    const auto end = entries_.upper_bound(marks.span.last);
    for (auto at = begin; at != end; ++at) {
      changed.push_back(at->first);
      missing_ -= at->second.missing;
      behind_.erase(at->first);
      if (stepping_ == at->first) stepping_.reset();
    }
    entries_.erase(begin, end);
    if (marks.span == kAllStreams) told_ = true;
    std::erase_if(awaited_, [&](const Span& span) {
      return span.after >= marks.span.after && span.last <= marks.span.last;
    });
  }
  for (const StreamMark& mark : marks.marks) {
    set(mark);
    changed.push_back(mark.stream);
  }
  if (entries_.size() > kMaxStreamsTold) return std::nullopt;
  return changed;
}

void PeerView::take_as_ours(const std::vector<StreamMark>& ours, const Span& span) {
  [[maybe_unused]] const auto changed = take(Marks{true, span, ours});
}

void PeerView::await(std::vector<Span> spans) {
  awaited_ = std::move(spans);
  told_ = true;
}

bool PeerView::is_told(const Id128& stream) const {
  return told_ && std::none_of(awaited_.begin(), awaited_.end(),
                               [&](const Span& span) { return holds(span, stream); });
}

// Behind a fork nothing counts: neither what the peer has there nor what we have.
Seq PeerView::last_useful(const Entry& entry, const ledger::StreamState* own) const {
  if (own == nullptr) return Seq();
  if (entry.fork == Seq()) return own->head;
  return std::min(own->head, Seq(entry.fork.value - 1));
}

void PeerView::note_missing(Entry& entry, const ledger::StreamState* own) {
  const Seq head = own == nullptr ? Seq() : own->head;
  const bool forked = own != nullptr && own->fork.has_value();
  missing_ -= entry.missing;
  entry.missing = !forked && entry.seq > head ? entry.seq.value - head.value : 0;
  missing_ += entry.missing;
}

PeerView::Calls PeerView::review(const Id128& stream, std::uint64_t now_ns) {
  const ledger::StreamState* const own = replica_->fold().find(stream);
  auto found = entries_.find(stream);
  if (found == entries_.end()) {
    if (own == nullptr || entries_.size() >= kMaxStreamsTold) return Calls::nothing;
    found = entries_.emplace(stream, Entry{}).first;
  }
  Entry& entry = found->second;
  note_missing(entry, own);
  const bool lacks = is_told(stream) && entry.seq < last_useful(entry, own);
  const bool known = own != nullptr && entry.seq != Seq() && entry.seq <= own->head;
  const std::optional<Hash256> ours =
      known ? replica_->fold().hash_at(stream, entry.seq) : std::optional<Hash256>();
  Calls calls = Calls::nothing;
  if (ours && *ours != entry.head)
    calls = Calls::walk;
  else if (lacks && replica_->index().next_at(stream, entry.seq.next()) != entry.seq.next())
    calls = Calls::skip;
  const Seq step =
      calls == Calls::skip
          ? replica_->index().step_behind(stream, entry.seq, last_useful(entry, own)).value_or(Seq())
          : Seq();
  if (entry.step != step) entry.next = entry.seq.next();
  entry.step = step;
  if (!lacks || (calls != Calls::nothing && step == Seq())) {
    behind_.erase(stream);
    if (stepping_ == stream) stepping_.reset();
  } else if (behind_.insert(stream).second) {
    const bool at_once = own->author == own_;
    entry.since_ns = at_once ? 0 : now_ns + kRelayDelay_ns;
  }
  return calls;
}

std::optional<PeerView::Turn> PeerView::turn_of(const Id128& stream, std::uint64_t now_ns) {
  Entry& entry = entries_.at(stream);
  if (now_ns < entry.since_ns) return std::nullopt;
  if (entry.step != Seq()) {
    if (stepping_ && *stepping_ != stream) return std::nullopt;
    if (entry.next <= entry.step) return step_of(stream, entry);
    if (now_ns < entry.patience_ns) return std::nullopt;
    entry.next = entry.seq.next();
    ++entry.stalls;
    return step_of(stream, entry);
  }
  const Seq last = last_useful(entry, replica_->fold().find(stream));
  if (entry.stalls == 0 && entry.next <= last) return Turn{stream, entry.next, last};
  if (now_ns < entry.patience_ns) return std::nullopt;
  // Its marks stood still for too long: once more, from what it says to have.
  entry.next = entry.seq.next();
  ++entry.stalls;
  return Turn{stream, entry.next, entry.next};
}

PeerView::Turn PeerView::step_of(const Id128& stream, const Entry& entry) {
  return {stream, entry.next, entry.step, true, entry.next == entry.seq.next()};
}

std::optional<PeerView::Turn> PeerView::next_turn(std::uint64_t now_ns) {
  auto at = behind_.upper_bound(turn_);
  for (std::size_t looked = 0; looked < behind_.size(); ++looked, ++at) {
    if (at == behind_.end()) at = behind_.begin();
    if (const std::optional<Turn> turn = turn_of(*at, now_ns)) return turn;
  }
  return std::nullopt;
}

void PeerView::sent(const Id128& stream, Seq last, std::uint64_t now_ns) {
  Entry& entry = entries_.at(stream);
  entry.next = last.next();
  entry.patience_ns = now_ns + stall_ns(entry.stalls);
  turn_ = stream;
  if (entry.step != Seq() && last < entry.step)
    stepping_ = stream;
  else if (stepping_ == stream)
    stepping_.reset();
}

void PeerView::put_off(const Id128& stream, std::uint64_t now_ns) {
  Entry& entry = entries_.at(stream);
  ++entry.stalls;
  entry.patience_ns = now_ns + stall_ns(entry.stalls);
  if (entry.step != Seq()) entry.next = entry.step.next();
  if (stepping_ == stream) stepping_.reset();
}

void PeerView::forget_sent() {
  for (auto& [stream, entry] : entries_) {
    entry.next = entry.seq.next();
    entry.patience_ns = 0;
    entry.stalls = 0;
  }
  stepping_.reset();
}

}  // namespace postern::sync
