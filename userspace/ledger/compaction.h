// SPDX-License-Identifier: Apache-2.0
// Doing away with old segments (SPEC 4.8, rule 10).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ledger/base.h"
#include "ledger/directory.h"
#include "ledger/segment_header.h"
#include "ledger/summary.h"
#include "wire/sign.h"

namespace postern::ledger {

// From this many bytes of live segments on it is time (Journal::wants_compaction).
inline constexpr std::uint64_t kCompactionBytes = std::uint64_t{64} << 20;

struct CompactionOrder {
  const wire::SecretKey& key;  // the node's: signs the base
  Summary& summary;            // fresh
  std::int64_t now_ms = 0;
};

struct CompactionReport {
  bool compacted = false;         // false: no segment was sealed since the last time
  std::uint64_t base = 0;         // number of the base in force
  std::uint64_t records = 0;      // that it replaced now
  std::uint64_t kept_events = 0;  // that it holds
  std::vector<std::string> unlinked;
  std::shared_ptr<const Base> in_force;  // null: nothing was compacted
  std::string leftover;  // why something that should be gone is still there; the next round tries again
};

// One compaction up to `active`, the header of the segment that is written (it is not touched). `earlier`:
// the base in force, or null. Killed at any call, the journal opens with the old base or the new one, and the
// same records.
struct Compacted {
  std::shared_ptr<const Base> base;  // null: nothing to do
  CompactionReport report;
};
Result<Compacted> compact_segments(Directory& directory, const std::shared_ptr<const Base>& earlier,
                                   const SegmentHeader& active, const CompactionOrder& order);

}  // namespace postern::ledger
