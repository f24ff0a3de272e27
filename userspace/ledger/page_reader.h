// SPDX-License-Identifier: Apache-2.0
// Reads pages out of the segments (SPEC 4.10). Keeps the file that it reads open, so a compaction that
// unlinks it takes nothing away in the middle of a page.
#pragma once

#include <memory>
#include <vector>

#include "ledger/base.h"
#include "ledger/directory.h"
#include "ledger/pages.h"
#include "ledger/segment_header.h"

namespace postern::ledger {

// What there is to read at one moment.
struct PageSource {
  Id128 journal{};
  std::shared_ptr<const Base> base;  // may be null
  std::vector<SegmentHeader>
      segments;  // that follow on each other without a hole, the last one being written
  Lseq durable;
  Hash256 durable_hash{};  // the chain's, up to `durable`
};

// errc::absent when a segment of `source` is gone: look again at what there is now.
Result<Page> read_page(const Directory& directory, const PageSource& source, const Cursor& from,
                       const PageLimits& limits);

}  // namespace postern::ledger
