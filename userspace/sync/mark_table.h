// SPDX-License-Identifier: Apache-2.0
// This gateway's marks, as its peers are told them (SPEC 9.2). They come from the replica's fold, which
// counts what is durable.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ledger/fold.h"
#include "sync/message.h"

namespace postern::sync {

StreamMark mark_of(const Id128& stream, const ledger::StreamState& state);

class MarkTable {
 public:
  // Takes over how the fold stands; true: the stream's mark is another one now.
  bool refresh(const ledger::Fold& fold, const Id128& stream);
  // Those that changed.
  std::set<Id128> refresh_all(const ledger::Fold& fold);

  std::size_t size() const { return marks_.size(); }
  const StreamMark* find(const Id128& stream) const;
  std::vector<StreamMark> within(const Span& span) const;
  // About kMarksPerRange marks each, together all streams there could be.
  Ranges ranges() const;
  // Whether the same marks stand there.
  bool agrees(const Span& span, const Range& theirs) const;

 private:
  bool take(const StreamMark& now);

  std::map<Id128, StreamMark> marks_;
};

}  // namespace postern::sync
