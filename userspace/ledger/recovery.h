// SPDX-License-Identifier: Apache-2.0
// Opening what a crash left (SPEC 4.6). Looking changes nothing; recovering writes one new segment at most,
// and never into an existing one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/base_file.h"
#include "ledger/classify.h"
#include "ledger/directory.h"
#include "ledger/findings.h"
#include "ledger/journal.h"

namespace postern::ledger {

// Where the journal goes on.
struct WritePosition {
  SegmentHeader segment;
  std::unique_ptr<File> file;  // that segment, open for writing
  std::size_t offset = 0;      // of the next batch
  ChainHead chain;             // everything below chain.next is durable
};

// What the directory holds, base and segments together.
struct Examination {
  Classification found;
  BaseChoice base;
  Findings findings;
  Findings sealed_findings;               // of what stands before the last segment alone
  std::vector<std::uint64_t> segments;    // all numbers, ascending; those below the base's play no part
  std::vector<std::uint64_t> bases;       // likewise
  std::optional<std::string> unreadable;  // what the disk could not read, and where

  // Number of the first segment that is read.
  std::uint64_t first_live() const { return base.base ? base.base->number : 1; }
};

// Told of the base that all goes on from, before anything else. May be empty.
using BaseSink = std::function<void(const Base&)>;

// Reads everything from the disk, past the page cache (rule 9). Hands the events that the base keeps, then
// all live records, to `sink` unless it is empty. errc::absent where nothing of a journal is.
Result<Examination> examine(const Directory& directory, const RecordSink& sink, const BaseSink& on_base = {});

// The last segment of `before` and what recover() raised behind it, read from the disk once more: where a
// recovery can have changed what there is. Everything before it, sealed, is taken over from `before`.
Result<Examination> examine_end(const Directory& directory, Examination before, std::uint64_t last_segment,
                                const RecordSink& sink);

// Success when clean, torn or suspect, else the refusal by name, with the remedy.
Result<> accept(const Examination& examined, const Directory& directory);
// What an operator can do about it; "" when an agent would start.
std::string remedy(const Examination& examined);

// Rule 7. `found` is clean, torn or suspect. Idempotent: killed at any point, the next attempt comes to the
// same records. A resumption that is no continuation is recorded, also in a clean journal.
Result<WritePosition> recover(Directory& directory, const Classification& found, const Id128& machine,
                              Resumption resumption);

std::uint64_t new_salt();

}  // namespace postern::ledger
