// SPDX-License-Identifier: Apache-2.0
// Steps over what others compacted away (SPEC 5.7).
#include <algorithm>

#include "ledger/event_kinds.h"
#include "ledger/replica.h"

namespace postern::ledger {
namespace {

std::vector<StepEvent> judged(const std::vector<VerifiedEvent>& step) {
  std::vector<StepEvent> out;
  out.reserve(step.size());
  for (const VerifiedEvent& one : step)
    out.push_back({one.event, one.hash});
  return out;
}

}  // namespace

// A step whose events are being journaled, one after another.
struct Replica::Landing {
  std::vector<VerifiedEvent> step;
  std::vector<Lseq> lseqs;
  bool failed = false;
};

Offer Replica::offer_step(std::vector<VerifiedEvent> step) {
  if (failed_) return Offer::failed;
  if (step.empty()) return Offer::invalid;
  const Event& last = step.back().event;
  if (!authors_ || !authors_(last.key)) return Offer::untrusted;
  for (const VerifiedEvent& one : step)
    if (one.event.critical && !is_known_kind(one.event.kind)) return Offer::newer;
  // What is in flight of the stream is waited for: the step comes again.
  if (lands(last.stream)) return Offer::ahead;
  const Place place = fold_.place_step(judged(step));
  if (place != Place::next) return offer_at(place);
  if (!continues_own(step.front().event) && !continues_own(step.back().event))
    return take_step(std::move(step));
  const Result<> renewed =
      give_up_own("others hold events of it that this journal does not: its disk went back");
  return renewed ? Offer::own : Offer::failed;
}

Offer Replica::take_step(std::vector<VerifiedEvent> step) {
  const StreamState* const state = fold_.find(step.back().event.stream);
  if (state != nullptr) std::erase_if(step, [&](const auto& one) { return one.event.seq <= state->head; });
  std::size_t bytes = 0;
  for (const VerifiedEvent& one : step)
    bytes += one.sealed.size();
  const VerifiedEvent& last = step.back();
  if (!within_quota(last.event, bytes)) return Offer::full;
  author_bytes_[last.event.key] += bytes;
  tips_[last.event.stream] = {last.event.seq, last.hash, last.event.lamport,
                              step.size(),    false,     last.event.key};
  in_flight_ += step.size();
  std::vector<std::string> sealed;
  for (const VerifiedEvent& one : step)
    sealed.push_back(one.sealed);
  const std::weak_ptr<Replica*> alive = alive_;
  auto landing = std::make_shared<Landing>();
  landing->step = std::move(step);
  for (std::string& one : sealed) {
    journal_->submit({std::move(one)}, [post = post_, alive, landing](Result<Lseq> lseq) {
      post([alive, landing, lseq = std::move(lseq)]() mutable {
        if (const std::shared_ptr<Replica*> self = alive.lock())
          (*self)->landed_step(*landing, std::move(lseq));
      });
    });
  }
  return Offer::taken;
}

void Replica::landed_step(Landing& landing, Result<Lseq> lseq) {
  --in_flight_;
  landing.failed = landing.failed || !lseq;
  failed_ = failed_ || (!lseq && lseq.error().code != errc::disk_full);
  landing.lseqs.push_back(lseq ? *lseq : Lseq());
  Tip& tip = tips_[landing.step.back().event.stream];
  tip.broken = landing.failed;
  if (--tip.events == 0) tips_.erase(landing.step.back().event.stream);
  if (landing.lseqs.size() == landing.step.size() && !landing.failed) count_step(landing);
}

void Replica::count_step(const Landing& landing) {
  const std::vector<StepEvent> step = judged(landing.step);
  const Place place = fold_.place_step(step);
  if (place != Place::next && place != Place::early) return;
  fold_.take_step(step);
  for (std::size_t i = 0; i < step.size(); ++i) {
    const Event& event = step[i].event;
    const StreamState& state = *fold_.find(event.stream);
    if (state.fork && event.seq >= state.fork->at) continue;
    if (i + 1 == step.size())
      index_.add(event.stream, event.seq, landing.lseqs[i]);
    else
      index_.keep(event.stream, event.seq, landing.lseqs[i]);
  }
  bool forks = false;
  for (std::size_t i = 0; i < step.size(); ++i) {
    note(landing.step[i], landing.lseqs[i]);
    forks = forks || step[i].event.kind == kStreamForked;
  }
  if (!forks) return;
  [[maybe_unused]] const Result<> told = announce_forks();
}

}  // namespace postern::ledger
