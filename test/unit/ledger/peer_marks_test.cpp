// SPDX-License-Identifier: Apache-2.0
#include "ledger/peer_marks.h"

#include <doctest/doctest.h>

#include <vector>

namespace postern::ledger {
namespace {

constexpr Id128 kStream{1};

Hash256 hash_of(std::uint64_t seq, std::uint8_t version = 0) {
  return Hash256{static_cast<std::uint8_t>(seq), version};
}

Mark mark(std::uint64_t seq, std::uint8_t version = 0) {
  return {kStream, Seq(seq), hash_of(seq, version)};
}

// Events 4 to 9 are held, 1 to 3 were compacted away.
OwnStream own() {
  return {kStream, Seq(9), [](Seq seq) -> std::optional<Hash256> {
            if (seq < Seq(4)) return std::nullopt;
            return hash_of(seq.value);
          }};
}

MarksVerdict judge(const std::vector<Mark>& marks) {
  return judge_marks(own(), marks);
}

}  // namespace

TEST_CASE("marks up to our own head, and those of other streams, leave us level") {
  CHECK(judge({}) == MarksVerdict{Standing::level, Seq(0), std::nullopt});
  CHECK(judge({mark(9), mark(4)}) == MarksVerdict{Standing::level, Seq(9), std::nullopt});
  CHECK(judge({mark(2, 7)}).standing == Standing::level);  // nothing of ours to compare it with
  CHECK(judge({{Id128{2}, Seq(50), hash_of(50)}}) == MarksVerdict{Standing::level, Seq(0), std::nullopt});
}

TEST_CASE("a mark ahead of us means that our disk went back, and the furthest one tells how far") {
  CHECK(judge({mark(10)}) == MarksVerdict{Standing::behind, Seq(10), mark(10)});
  CHECK(judge({mark(12), mark(20), mark(11), mark(9)}) == MarksVerdict{Standing::behind, Seq(20), mark(20)});
}

TEST_CASE("another hash at a seq that we hold is the proof of a fork, and outranks a disk that went back") {
  CHECK(judge({mark(9, 1)}) == MarksVerdict{Standing::forked, Seq(9), mark(9, 1)});
  CHECK(judge({mark(30), mark(8, 1), mark(31), mark(6, 1), mark(7, 1)}) ==
        MarksVerdict{Standing::forked, Seq(31), mark(6, 1)});
}

TEST_CASE("a gap is closed only when our events are dense up to every mark and the pin") {
  const RefetchedGap closed{Seq(20), Seq(20), true, true};
  CHECK(gap_is_closed(closed));
  for (const RefetchedGap& open :
       {RefetchedGap{Seq(19), Seq(20), true, true}, RefetchedGap{Seq(20), Seq(20), false, true},
        RefetchedGap{Seq(20), Seq(20), true, false}}) {
    CHECK_FALSE(gap_is_closed(open));
  }
}

}  // namespace postern::ledger
