// SPDX-License-Identifier: Apache-2.0
// Where in the journal each event stands that can be given to others: by stream and seq. Eight bytes an
// event; of what was compacted away only the events that the base keeps, and likewise of a range that was
// stepped over.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/bytes.h"
#include "core/ids.h"
#include "ledger/base.h"

namespace postern::ledger {

class EventIndex {
 public:
  // An event by itself: one that a base keeps, or that is part of a step.
  void keep(const Id128& stream, Seq seq, Lseq lseq) { places_[stream].kept[seq] = lseq; }
  // The next event of its stream; the first of a stream may have any seq, and one that a step leads to.
  void add(const Id128& stream, Seq seq, Lseq lseq);
  // A StreamCondensed, which a step can lead to.
  void mark_step(const Id128& stream, Seq seq) { places_[stream].steps.insert(seq); }
  // Events of `stream` from `first` on count no more.
  void cut(const Id128& stream, Seq first);
  // Records up to `last` are gone, except for those that are kept.
  void compacted(Lseq last);

  std::optional<Lseq> find(const Id128& stream, Seq seq) const;
  // From here on every event up to the head is there; before it there may be holes.
  Seq dense_from(const Id128& stream) const;
  // The first event at or after `seq` that is there.
  std::optional<Seq> next_at(const Id128& stream, Seq seq) const;
  // The first StreamCondensed behind `seq` that is there, if it is not further than `last`.
  std::optional<Seq> step_behind(const Id128& stream, Seq seq, Seq last) const;

 private:
  struct Places {
    Seq first;  // seq of dense[0]
    std::vector<Lseq> dense;
    std::map<Seq, Lseq> kept;
    std::set<Seq> steps;
  };

  std::map<Id128, Places> places_;
};

}  // namespace postern::ledger
