// SPDX-License-Identifier: Apache-2.0
// Looking at a journal without touching it (SPEC 4.9): for `postern journal verify` and `show`. Takes no
// lock, writes nothing, flushes nothing. Of a journal that an agent writes at the same time, the end may look
// torn or suspect: ask the agent instead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/base.h"
#include "ledger/classify.h"
#include "ledger/directory.h"

namespace postern::ledger {

struct SegmentFacts {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  bool live = true;  // false: wholly below the base, kept one more round or left by a killed compaction
  bool header_whole = false;
  std::uint32_t format = 0;  // the rest says something only with a whole header
  Lseq first_lseq;
  std::optional<std::uint64_t> sealed_end;  // as the next segment's header says; none for the last
};

struct Scan {
  std::string path;
  Id128 journal{};
  Id128 machine{};
  Condition condition = Condition::clean;
  std::string finding;            // where and what; "" when clean
  std::string remedy;             // what to do about it; "" when an agent would start
  std::optional<Lseq> first_bad;  // k of rule 5, or the first missing record of a damaged sealed segment
  bool unreadable = false;        // the disk refused to give bytes that matter (EIO)
  bool foreign_machine = false;   // written on another machine than this one
  Lseq head;                      // last whole record
  Hash256 head_hash{};
  Lseq proven;
  std::uint64_t records = 0;      // whole and live, after the base
  std::uint64_t events = 0;       // of them
  std::uint64_t kept_events = 0;  // in the base
  std::uint64_t torn_records = 0;
  std::uint64_t unproven_records = 0;
  bool clean_stop = false;
  std::shared_ptr<const Base> base;    // the one in force; null when there is none
  std::string base_trouble;            // why a newer base was passed over; ""
  std::vector<Finding> findings;       // open ones
  std::vector<Gap> gaps;               // all that are known, open or not
  std::vector<SegmentFacts> segments;  // ascending
  std::vector<std::uint64_t> bases;    // numbers, ascending
  std::vector<std::string> side_files;
  std::vector<std::string> strays;  // names that are none of the journal's
  bool spare = false;
  std::uint64_t bytes = 0;  // of all files above
};

// Fails only when nothing can be said: no journal, a directory or file that cannot be opened, a newer format.
// Hands base's kept events, then live records, to `sink` unless it is empty, before the verdict is known.
Result<Scan> scan_journal(const Directory& directory, const RecordSink& sink);

}  // namespace postern::ledger
