// SPDX-License-Identifier: Apache-2.0
// What the peers' marks say of our own stream (SPEC 4.12): they remember it when our disk does not. A mark
// counts only once the event that it names is at hand, signed by our own key; checking that is the caller's.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "core/bytes.h"
#include "core/ids.h"

namespace postern::ledger {

// How far somebody's durable, contiguous copy of a stream reaches.
struct Mark {
  Id128 stream{};
  Seq seq;
  Hash256 head{};  // hash of the event at `seq`

  friend bool operator==(const Mark&, const Mark&) = default;
};

struct OwnStream {
  Id128 id{};
  Seq head;
  // Hash of the own event at a seq up to `head`; none where it was compacted away.
  std::function<std::optional<Hash256>(Seq)> hash_at;
};

enum class Standing {
  level,   // no peer knows more than we do
  behind,  // a peer holds events of ours that we do not: our disk went back in time
  forked,  // a peer holds another event than we do under one seq: proof of a fork
};

struct MarksVerdict {
  Standing standing = Standing::level;
  Seq highest;  // of the marks of our stream; 0 without any
  std::optional<Mark>
      proof;  // the mark that told: the highest when behind, the lowest that differs when forked

  friend bool operator==(const MarksVerdict&, const MarksVerdict&) = default;
};

// Marks of other streams say nothing of ours. A fork outranks a disk that went back.
MarksVerdict judge_marks(const OwnStream& own, std::span<const Mark> marks);

// A repair closes its gap when our own events are dense up to everything that anybody was told of (SPEC 4.6
// rule 11).
struct RefetchedGap {
  Seq dense_upto;                // own events are all there up to here
  Seq highest_mark;              // of the peers that were asked
  bool all_peers_asked = false;  // each peer that may hold events of ours has sent its marks
  // The kernel's pin, if there is one, is of a record that the journal holds, or that lies below the gap.
  bool pin_covered = false;
};

bool gap_is_closed(const RefetchedGap& gap);

}  // namespace postern::ledger
