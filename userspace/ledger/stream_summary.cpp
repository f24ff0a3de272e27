// SPDX-License-Identifier: Apache-2.0
#include "ledger/stream_summary.h"

#include <algorithm>

#include "ledger/event_kinds.h"

namespace postern::ledger {

StreamSummary::Stands StreamSummary::see(Lseq at, const Event& event, const Hash256& hash, std::size_t bytes,
                                         bool from_base) {
  Progress& progress = progress_[event.stream];
  const auto known = heads_.find(event.stream);
  const Seq head = known == heads_.end() ? Seq() : known->second.seq;
  const bool sums_up = event.kind == kStreamCondensed;
  if (event.seq <= head) {
    if (!from_base) return Stands::counted;
    count(progress, event, hash, bytes);
  } else if (event.seq == head.next()) {
    progress.ahead.clear();
    count(progress, event, hash, bytes);
  } else {
    if (!progress.ahead.empty() && progress.ahead.back().first.seq >= event.seq) progress.ahead.clear();
    if (!sums_up || !leads_on(progress, event)) {
      if (!is_condensable(event.kind)) progress.ahead.push_back({{event.stream, event.seq}, hash});
      return Stands::behind_hole;
    }
  }
  if (sums_up) {
    const Result<Skeleton> said = read_condensed(event);
    if (said && *said == progress.skeleton) end_step(progress, at, event.seq);
  }
  if (event.seq > head) {
    StreamHead& now = heads_[event.stream];
    now = {event.key, event.seq, hash, std::max(now.lamport, event.lamport)};
  }
  return Stands::counted;
}

void StreamSummary::count(Progress& progress, const Event& event, const Hash256& hash, std::size_t bytes) {
  progress.skeleton.add(event.kind, event.seq, hash);
  if (!is_condensable(event.kind)) progress.bytes_behind += bytes;
}

// As the fold does when it reads the journal again.
bool StreamSummary::leads_on(Progress& progress, const Event& event) {
  Skeleton skeleton = progress.skeleton;
  for (const auto& [id, hash] : progress.ahead)
    skeleton.add({}, id.seq, hash);
  const Result<Skeleton> said = read_condensed(event);
  if (!said || *said != skeleton) return false;
  progress.skeleton = skeleton;
  progress.ahead.clear();
  return true;
}

// The last one is always kept, and one before it where the step to the last one would grow too large.
void StreamSummary::end_step(Progress& progress, Lseq at, Seq seq) {
  progress.summed_up = std::max(progress.summed_up, seq);
  const bool too_far = progress.bytes_before + progress.bytes_behind > kStepBytes;
  if (!progress.steps.empty() && !too_far) {
    progress.steps.erase(std::prev(progress.steps.end()));
    progress.bytes_before += progress.bytes_behind;
  } else {
    progress.bytes_before = progress.bytes_behind;
  }
  progress.steps.insert(at);
  progress.bytes_behind = 0;
}

bool StreamSummary::holds(Lseq at, const EventId& event) const {
  const auto progress = progress_.find(event.stream);
  if (progress == progress_.end()) return true;
  return event.seq > progress->second.summed_up || progress->second.steps.count(at) != 0;
}

}  // namespace postern::ledger
