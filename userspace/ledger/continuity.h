// SPDX-License-Identifier: Apache-2.0
// May a start go on with the stream that its journal holds (SPEC 4.12)? A stream's (stream, seq) is never
// used twice: whoever cannot prove that nothing of it was forgotten opens a new one. Pure decisions over
// evidence.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "ledger/base.h"
#include "ledger/peer_marks.h"

namespace postern::ledger {

struct ContinuityEvidence {
  // The journal says it itself: since the stream was opened a start found it suspect, or the journal came
  // from another machine, or its disk had gone back.
  bool broken = false;
  // The kernel's pin is of a record that the journal holds: what was acknowledged since the host booted is
  // there.
  bool pinned = false;
  bool clean_stop = false;  // the journal ends in CLOSE
  // Nobody else can hold events of this stream.
  bool alone = true;
  std::optional<Standing> marks;  // after a round with the peers, what their marks say
};

struct Continuation {
  bool same_stream = false;
  // Reserves that were not settled count as spent: how much of them was used is not known.
  bool reserves_spent = true;
  // Neither spend nor claim before a sync round tells what was forgotten.
  bool restrained = true;

  friend bool operator==(const Continuation&, const Continuation&) = default;
};

// What the journal itself says against going on with a stream whose StreamOpened stands at `opened_at`:
// findings after it other than a torn end, and records that were lost after it. "" when there is nothing.
std::string why_broken(std::span<const Finding> findings, std::span<const Gap> gaps, Lseq opened_at);

Continuation decide_continuation(const ContinuityEvidence& evidence);

}  // namespace postern::ledger
