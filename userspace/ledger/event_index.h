// SPDX-License-Identifier: Apache-2.0
// Where in the journal each event stands that can be given to others: by stream and seq. Eight bytes an
// event; of what was compacted away only the events that the base keeps.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/bytes.h"
#include "core/ids.h"
#include "ledger/base.h"

namespace postern::ledger {

class EventIndex {
 public:
  // An event that a base keeps.
  void keep(const Id128& stream, Seq seq, Lseq lseq) { places_[stream].kept[seq] = lseq; }
  // The next event of its stream; the first of a stream may have any seq.
  void add(const Id128& stream, Seq seq, Lseq lseq);
  // Events of `stream` from `first` on count no more.
  void cut(const Id128& stream, Seq first);
  // Records up to `last` are gone, except for those that are kept.
  void compacted(Lseq last);

  std::optional<Lseq> find(const Id128& stream, Seq seq) const;
  // From here on every event up to the head is there; before it there may be holes.
  Seq dense_from(const Id128& stream) const;
  // The first event at or after `seq` that is there.
  std::optional<Seq> next_at(const Id128& stream, Seq seq) const;

 private:
  struct Places {
    Seq first;  // seq of dense[0]
    std::vector<Lseq> dense;
    std::map<Seq, Lseq> kept;
  };

  std::map<Id128, Places> places_;
};

}  // namespace postern::ledger
