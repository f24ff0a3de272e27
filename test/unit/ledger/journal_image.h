// SPDX-License-Identifier: Apache-2.0
// A journal in memory, written as the writer does it, for tests that break it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ledger/classify.h"
#include "ledger/record.h"
#include "ledger/segment_header.h"

namespace postern::ledger {

class JournalImage {
 public:
  JournalImage();

  // Appends a batch, stamped with everything before it as durable. Returns the offset of its first record.
  std::size_t append(const std::vector<std::string>& payloads);
  // Ends the segment and begins the next. `first_lseq` below the next one cuts the old segment, as recovery
  // does: `kept` are the copies.
  void roll();
  void cut(Lseq first_lseq, const std::vector<std::string>& kept);

  Bytes& segment(std::uint64_t number) { return segments_.at(number); }
  std::map<std::uint64_t, Bytes>& segments() { return segments_; }
  const SegmentHeader& header() const { return header_; }
  void rewrite_header(std::uint64_t number, const SegmentHeader& header);
  std::size_t end() const { return end_; }
  Lseq head() const { return Lseq(chain_.next.value - 1); }

  Result<Classification> classify() const;
  // Payloads of the live records, read by classify's sink.
  std::vector<std::string> live() const;

 private:
  void begin_segment();

  std::map<std::uint64_t, Bytes> segments_;
  SegmentHeader header_;
  ChainHead chain_;
  std::size_t end_ = kFirstBatchOffset;
  std::map<std::uint64_t, Hash256> prev_of_;
};

// An event-like payload of exactly `bytes` bytes.
std::string payload_of(std::size_t bytes, char fill = 'x');

}  // namespace postern::ledger
