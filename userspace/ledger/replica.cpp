// SPDX-License-Identifier: Apache-2.0
#include "ledger/replica.h"

#include <algorithm>

#include "ledger/event_kinds.h"
#include "ledger/own_lineage.h"

namespace postern::ledger {

std::string_view offer_name(Offer offer) {
  switch (offer) {
    case Offer::taken:
      return "taken";
    case Offer::known:
      return "known";
    case Offer::ahead:
      return "ahead";
    case Offer::diverges:
      return "diverges";
    case Offer::forked:
      return "forked";
    case Offer::excluded:
      return "excluded";
    case Offer::early:
      return "early";
    case Offer::compacted:
      return "compacted";
    case Offer::untrusted:
      return "untrusted";
    case Offer::newer:
      return "newer";
    case Offer::full:
      return "full";
    case Offer::own:
      return "own";
    case Offer::invalid:
      return "invalid";
    case Offer::failed:
      return "failed";
  }
  return "";
}

// Of an event that is not taken.
Offer Replica::offer_at(Place place) {
  switch (place) {
    case Place::known:
      return Offer::known;
    case Place::ahead:
      return Offer::ahead;
    case Place::compacted:
      return Offer::compacted;
    case Place::diverges:
      return Offer::diverges;
    case Place::excluded:
      return Offer::excluded;
    case Place::early:
      return Offer::early;
    default:
      return Offer::invalid;
  }
}

void Replica::replay(const Record& record, const Event& event) {
  const Hash256 hash = event_hash(record.payload);
  if (record.from_base) {
    fold_.recall(event, hash);
    index_.keep(event.stream, event.seq, record.lseq);
    if (event.kind == kStreamCondensed) index_.mark_step(event.stream, event.seq);
    return;
  }
  const Seq before = fold_.find(event.stream) != nullptr ? fold_.find(event.stream)->head : Seq();
  fold_.resume(event, hash);
  const StreamState& now = *fold_.find(event.stream);
  if (now.head != before)
    index_.add(event.stream, event.seq, record.lseq);
  else if (event.seq > now.head && !now.fork)
    index_.keep(event.stream, event.seq, record.lseq);  // perhaps of a step
  if (now.head == event.seq && event.kind == kStreamCondensed) index_.mark_step(event.stream, event.seq);
}

void Replica::take_from_others(Authors authors, Post post) {
  authors_ = std::move(authors);
  post_ = std::move(post);
}

Stream::Durable Replica::listener() {
  return [this](const Event& event, const std::string& sealed, Lseq lseq) {
    count({event, sealed, event_hash(sealed)}, lseq);
  };
}

void Replica::started(Journal& journal, Stream& stream) {
  journal_ = &journal;
  stream_ = &stream;
  alive_ = std::make_shared<Replica*>(this);
  stored_.emplace(journal);
  if (const std::shared_ptr<const Base>& base = journal.recovery().base) fold_.start(base->state.streams);
  for (const auto& [id, state] : fold_.streams())
    if (state.fork) index_.cut(id, state.fork->at);
  stream.witness(fold_.lamport());
}

Offer Replica::offer(VerifiedEvent event) {
  if (failed_) return Offer::failed;
  if (!authors_ || !authors_(event.event.key)) return Offer::untrusted;
  if (event.event.critical && !is_known_kind(event.event.kind)) return Offer::newer;
  if (const std::optional<Offer> known = offer_behind_tip(event)) {
    return *known == Offer::taken ? take(std::move(event)) : *known;
  }
  const Place place = fold_.place(event.event, event.hash);
  if (continues_own(event.event) && (place == Place::next || place == Place::ahead)) {
    const Result<> renewed =
        give_up_own("others hold events of it that this journal does not: its disk went back");
    return renewed ? Offer::own : Offer::failed;
  }
  if (place == Place::next) return take(std::move(event));
  return place == Place::forks ? prove(event) : offer_at(place);
}

// Whether it can only stand behind what this journal wrote last: in its stream, or in one that was opened for
// it.
bool Replica::continues_own(const Event& event) const {
  if (event.stream == stream_->id()) return true;
  const StreamState* const own = fold_.find(stream_->id());
  if (own == nullptr || event.key != own->author || event.kind != kStreamOpened) return false;
  return opens_after(event, stream_->id());
}

// Of a stream with events in flight: only what follows on them is judged now, all else when they are durable.
std::optional<Offer> Replica::offer_behind_tip(const VerifiedEvent& event) const {
  const auto at = tips_.find(event.event.stream);
  if (at == tips_.end()) return std::nullopt;
  const Tip& tip = at->second;
  const StreamState* state = fold_.find(event.event.stream);
  if (state != nullptr && event.event.seq <= state->head) return std::nullopt;
  if (state != nullptr && state->fork && event.event.seq >= state->fork->at) return Offer::excluded;
  if (event.event.key != tip.author || event.event.mesh != fold_.mesh()) return Offer::invalid;
  if (tip.broken) return Offer::ahead;
  if (event.event.seq <= tip.seq) return Offer::known;
  if (event.event.seq != tip.seq.next()) return Offer::ahead;
  if (event.event.prev != tip.hash) return Offer::ahead;
  const bool own_rules = event.event.kind != kStreamOpened && event.event.lamport > tip.lamport;
  if (!own_rules) return Offer::invalid;
  const std::uint64_t clock = std::max(fold_.lamport(), tip.lamport).value;
  return event.event.lamport.value > clock + kMaxLamportStep ? Offer::early : Offer::taken;
}

bool Replica::within_quota(const Event& event, std::size_t bytes) const {
  const auto so_far = author_bytes_.find(event.key);
  if (so_far != author_bytes_.end() && so_far->second + bytes > kMaxAuthorBytes) return false;
  if (fold_.find(event.stream) != nullptr) return true;
  return fold_.stream_count() + tips_.size() < kMaxStreams && fold_.streams_of(event.key) < kMaxStreamsANode;
}

Offer Replica::take(VerifiedEvent event) {
  if (!within_quota(event.event, event.sealed.size())) return Offer::full;
  author_bytes_[event.event.key] += event.sealed.size();
  Tip& tip = tips_[event.event.stream];
  tip = {event.event.seq, event.hash, event.event.lamport, tip.events + 1, false, event.event.key};
  ++in_flight_;
  std::vector<std::string> payloads = {event.sealed};
  const std::weak_ptr<Replica*> alive = alive_;
  auto landing = std::make_shared<VerifiedEvent>(std::move(event));
  journal_->submit(std::move(payloads), [post = post_, alive, landing](Result<Lseq> lseq) {
    post([alive, landing, lseq = std::move(lseq)]() mutable {
      if (const std::shared_ptr<Replica*> self = alive.lock())
        (*self)->landed(std::move(*landing), std::move(lseq));
    });
  });
  return Offer::taken;
}

void Replica::landed(VerifiedEvent event, Result<Lseq> lseq) {
  --in_flight_;
  Tip& tip = tips_[event.event.stream];
  if (!lseq) {
    tip.broken = true;
    failed_ = failed_ || lseq.error().code != errc::disk_full;
  }
  if (--tip.events == 0) tips_.erase(event.event.stream);
  if (!lseq) return;
  count(event, *lseq);
  // It may tell of a fork of the own stream. What cannot be written now is tried again by whoever asks next.
  if (event.event.kind != kStreamForked) return;
  [[maybe_unused]] const Result<> told = announce_forks();
}

void Replica::count(const VerifiedEvent& event, Lseq lseq) {
  const Place place = fold_.place(event.event, event.hash);
  // A fork may have been proven, and a batch before this one have failed, while it was in flight.
  if (place != Place::next && place != Place::early) return;
  fold_.add(event.event, event.hash);
  index_.add(event.event.stream, event.event.seq, lseq);
  note(event, lseq);
}

// What an event that counts now calls for.
void Replica::note(const VerifiedEvent& event, Lseq lseq) {
  if (event.event.kind == kStreamCondensed) index_.mark_step(event.event.stream, event.event.seq);
  if (stream_ != nullptr) stream_->witness(event.event.lamport);
  if (event.event.kind == kStreamForked) {
    for (const auto& [id, state] : fold_.streams())
      if (state.fork) index_.cut(id, state.fork->at);
  }
  if (durable_) durable_(event, lseq);
  if (changed_) changed_();
}

Offer Replica::prove(const VerifiedEvent& other) {
  Result<std::optional<std::string>> known = read(other.event.stream, other.event.seq);
  if (!known || !*known) return Offer::compacted;
  const Result<std::string> header = header_of(**known);
  const Result<std::string> other_header = header_of(other.sealed);
  if (!header || !other_header) return Offer::invalid;
  const Result<ForkProof> proof = prove_fork(*header, *other_header);
  if (!proof) return Offer::invalid;
  if (fold_.learn(*proof)) index_.cut(proof->stream, proof->at);
  return announce_forks() ? Offer::forked : Offer::failed;
}

Result<> Replica::give_up_own(std::string why) {
  own_lost_ = "stream " + to_hex(stream_->id()) + " was given up: " + std::move(why);
  return stream_->renew();
}

Result<> Replica::announce_forks() {
  const StreamState* const own = fold_.find(stream_->id());
  if (own != nullptr && own->fork) {
    Result<> renewed = give_up_own("it is forked at seq " + std::to_string(own->fork->at.value));
    if (!renewed) return renewed;
  }
  std::vector<Draft> drafts;
  for (const ForkProof& proof : fold_.unannounced()) {
    drafts.push_back({std::string(kStreamForked), body_of(proof)});
  }
  return drafts.empty() ? Result<>() : stream_->write(drafts);
}

void Replica::compacted(const Base& base) {
  index_.compacted(base.lseq);
  for (const KeptEvent& kept : base.state.events) {
    const Result<Event> event = read_event(kept.payload);
    if (!event) continue;
    index_.keep(event->stream, event->seq, kept.lseq);
    if (event->kind == kStreamCondensed) index_.mark_step(event->stream, event->seq);
  }
}

Result<std::optional<std::string>> Replica::read(const Id128& stream, Seq seq) {
  const std::optional<Lseq> lseq = index_.find(stream, seq);
  if (!lseq) return std::optional<std::string>();
  Result<std::string> sealed = stored_->read(*lseq);
  if (!sealed && sealed.error().code == errc::absent) return std::optional<std::string>();
  if (!sealed) return pass_on(std::move(sealed));
  return std::optional(std::move(*sealed));
}

}  // namespace postern::ledger
