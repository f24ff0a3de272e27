// SPDX-License-Identifier: Apache-2.0
// Opening what a crash left (SPEC 4.6). Looking changes nothing; recovering writes one new segment at most,
// and never into an existing one.
#pragma once

#include <memory>
#include <vector>

#include "ledger/classify.h"
#include "ledger/directory.h"

namespace postern::ledger {

// Where the journal goes on.
struct WritePosition {
  SegmentHeader segment;
  std::unique_ptr<File> file;  // that segment, open for writing
  std::size_t offset = 0;      // of the next batch
  ChainHead chain;             // everything below chain.next is durable
};

// Numbers of the segments in the directory, ascending. errc::damage for a name that looks like a segment's
// and is not.
Result<std::vector<std::uint64_t>> list_segments(const Directory& directory);

// Reads all segments from the disk, past the page cache (rule 9), and hands live records to `sink` unless it
// is empty.
Result<Classification> examine(const Directory& directory, const RecordSink& sink);

// The refusal that a condition stands for: success when clean or torn, else an error by name, with the
// remedy.
Result<> accept(const Classification& found, const Directory& directory);

// Rule 7. `found` is clean or torn. Idempotent: killed at any point, the next attempt comes to the same
// records.
Result<WritePosition> recover(Directory& directory, const Classification& found, const Id128& machine);

std::uint64_t new_salt();

}  // namespace postern::ledger
