// SPDX-License-Identifier: Apache-2.0
// How far a compaction may go in each stream (SPEC 4.8, 5.7): a condensable event is done away with only
// behind a StreamCondensed of its author that sums up the stream as this journal has it; and of these so many
// are kept that whoever comes late gets on by steps of a bounded size.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ledger/base.h"
#include "ledger/event.h"
#include "ledger/skeleton.h"

namespace postern::ledger {

class StreamSummary {
 public:
  enum class Stands {
    counted,      // up to the head of its stream
    behind_hole,  // kept until the hole is filled
  };

  explicit StreamSummary(std::map<Id128, StreamHead>& heads) : heads_(heads) {}

  // The journal's next event; `from_base`: one that an earlier compaction kept.
  Stands see(Lseq at, const Event& event, const Hash256& hash, std::size_t bytes, bool from_base);
  // Whether whoever comes late still needs this event of a condensable kind, which counted.
  bool holds(Lseq at, const EventId& event) const;

 private:
  struct Progress {
    Skeleton skeleton;
    std::vector<std::pair<EventId, Hash256>> ahead;  // behind a hole that a step may lead over
    Seq summed_up;                                   // by the last StreamCondensed that is right
    std::set<Lseq> steps;                            // those that are kept
    std::size_t bytes_before = 0;  // of kept events between the last two of them, and behind the last one
    std::size_t bytes_behind = 0;
  };

  void count(Progress& progress, const Event& event, const Hash256& hash, std::size_t bytes);
  static void end_step(Progress& progress, Lseq at, Seq seq);
  bool leads_on(Progress& progress, const Event& event);

  std::map<Id128, StreamHead>& heads_;
  std::map<Id128, Progress> progress_;
};

}  // namespace postern::ledger
