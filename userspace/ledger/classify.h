// SPDX-License-Identifier: Apache-2.0
// What state is a journal in? A pure function over the images of its segments (SPEC 4.6).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "ledger/record.h"
#include "ledger/segment_header.h"

namespace postern::ledger {

enum class Condition {
  clean,    // ends in zeros
  torn,     // ends in a batch that was being written when the power went: never acknowledged
  suspect,  // the end is wrong, and nothing tells whether it was acknowledged
  damage,   // something that was acknowledged is wrong or missing
  fork,     // a second writer went on after a segment was sealed
};

std::string_view condition_name(Condition condition);

struct UnprovenRecord {
  RecordType type = RecordType::event;
  Hash256 prev{};
  std::string payload;
};

// What stands before the first segment: nothing, or a base.
struct Origin {
  std::uint64_t number = 1;      // of the first segment
  std::optional<Id128> journal;  // that it must belong to; unknown without a base
  ChainHead chain;               // where its first record must go on
};

struct Classification {
  Condition condition = Condition::clean;
  std::string finding;        // which segment, byte and lseq, and what is wrong there; empty when clean
  Lseq first_bad;             // k: the first record that is bad or missing; says nothing when clean
  std::uint64_t records = 0;  // whole and live

  // The rest says something only when clean, torn or suspect.
  std::vector<SegmentHeader> headers;  // of all segments from the origin on; those before the damage, if any
  SegmentHeader last;                  // of them
  std::size_t end = 0;                 // byte of the last segment where whole records end
  ChainHead chain;                     // after the last whole record
  Lseq proven;                         // highest lseq known to have been flushed
  std::vector<UnprovenRecord> unproven;  // whole records above `proven`
  std::uint64_t torn_records = 0;
  std::size_t sealed_end = 0;  // where the last segment ends for its successor: zeros from there on
  bool clean_stop = false;     // the last whole record is CLOSE
};

// The first `bytes` bytes of segment `number`. The view stays valid until the next call. errc::damage says
// that the file cannot be a segment; any other error ends the classification.
using ReadSegment = std::function<Result<ByteView>(std::uint64_t number, std::size_t bytes)>;
using RecordSink = std::function<Result<>(const Record&)>;

// `numbers` are those of the segments' names from `origin.number` on, ascending. Hands each live record to
// `sink`, unless it is empty, before the verdict is known. Fails with newer_format, what `read` failed with,
// or what `sink` failed with.
Result<Classification> classify(std::span<const std::uint64_t> numbers, const ReadSegment& read,
                                const RecordSink& sink, const Origin& origin = {});

}  // namespace postern::ledger
