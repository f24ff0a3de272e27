// SPDX-License-Identifier: Apache-2.0
// The spare: a segment's worth of written zeros under its own name (SPEC 4.3). Every segment is born from it,
// so that neither a roll nor a recovery needs disk space.
#pragma once

#include <memory>

#include "core/bytes.h"
#include "core/result.h"
#include "ledger/directory.h"
#include "ledger/segment_header.h"

namespace postern::ledger {

inline constexpr std::string_view kSpareName = "spare";

// Makes the spare durable unless it is there (rule 8). errc::disk_full leaves nothing behind.
Result<> ensure_spare(Directory& directory);

// Rule 1: turns the spare into a segment that exists only complete: header twice, `first_batch`, zeros;
// fdatasync, rename, fsync of the directory. Whatever a killed attempt left in the spare is overwritten. An
// existing segment is never replaced. Returns the segment, open for writing.
Result<std::unique_ptr<File>> raise_segment(Directory& directory, const SegmentHeader& header,
                                            ByteView first_batch);

}  // namespace postern::ledger
