// SPDX-License-Identifier: Apache-2.0
#include "ledger/peer_marks.h"

#include <algorithm>

namespace postern::ledger {

MarksVerdict judge_marks(const OwnStream& own, std::span<const Mark> marks) {
  MarksVerdict verdict;
  for (const Mark& mark : marks) {
    if (mark.stream != own.id) continue;
    verdict.highest = std::max(verdict.highest, mark.seq);
    if (mark.seq > own.head) {
      if (verdict.standing == Standing::forked) continue;
      const bool higher = !verdict.proof || verdict.proof->seq < mark.seq;
      verdict.standing = Standing::behind;
      if (higher) verdict.proof = mark;
      continue;
    }
    const std::optional<Hash256> held = own.hash_at(mark.seq);
    if (!held || *held == mark.head) continue;
    const bool lower = verdict.standing != Standing::forked || mark.seq < verdict.proof->seq;
    verdict.standing = Standing::forked;
    if (lower) verdict.proof = mark;
  }
  return verdict;
}

bool gap_is_closed(const RefetchedGap& gap) {
  return gap.all_peers_asked && gap.pin_covered && gap.dense_upto >= gap.highest_mark;
}

}  // namespace postern::ledger
