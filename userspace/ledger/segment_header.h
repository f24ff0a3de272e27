// SPDX-License-Identifier: Apache-2.0
// The header of a segment (SPEC 4.3): it stands twice, and proves everything below first_lseq durable.
#pragma once

#include <span>
#include <string>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/format.h"

namespace postern::ledger {

struct SegmentHeader {
  std::uint32_t format = kFormatVersion;
  std::uint32_t min_reader = kFormatVersion;
  Id128 journal{};
  std::uint64_t number = 1;
  std::uint64_t salt = 0;
  Lseq first_lseq{1};
  Hash256 prev{};                // chain hash of first_lseq-1; zero for the first segment
  std::uint64_t sealed_end = 0;  // where segment number-1 ends: the byte after its last whole record or batch
  Id128 machine{};

  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

// Both copies; `into` is the first kFirstBatchOffset bytes of a segment, and is overwritten whole.
void encode_header(const SegmentHeader& header, std::span<std::uint8_t> into);

// Reads the copies: one whole copy is enough. errc::newer_format when its min_reader is above ours;
// errc::damage when both are bad, or both whole and different. `bytes` holds kFirstBatchOffset bytes.
Result<SegmentHeader> decode_header(ByteView bytes);

// "seg-7", and back: only the canonical spelling.
std::string segment_name(std::uint64_t number);
std::optional<std::uint64_t> segment_number(std::string_view name);

}  // namespace postern::ledger
