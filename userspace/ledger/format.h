// SPDX-License-Identifier: Apache-2.0
// The journal's bytes on disk (SPEC 4.3, 4.4). Writer and recovery both use this header and nothing else for
// layout.
//
//   seg-N (8 MiB, complete before it has its name):
//     0     segment header, 4096 bytes: the fields below, then zeros
//     4096  its copy
//     8192  batches; each starts on a 4096 boundary and holds whole records; the rest of its last block is
//     zero
//
// All integers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

namespace postern::ledger {

inline constexpr std::uint32_t kFormatVersion = 1;
// The simulation of crashes is built with small segments, so that it comes by many rolls (SPEC 4.11).
#ifdef POSTERN_SIMULATED_SEGMENT_BYTES
inline constexpr std::size_t kSegmentBytes = POSTERN_SIMULATED_SEGMENT_BYTES;
#else
inline constexpr std::size_t kSegmentBytes = 8U << 20;
#endif
inline constexpr std::size_t kBlockBytes = 4096;  // batches start on it
inline constexpr std::size_t kSectorBytes = 512;  // what a disk writes whole, at the least
inline constexpr std::size_t kSegmentHeaderCopies = 2;
inline constexpr std::size_t kFirstBatchOffset = kSegmentHeaderCopies * kBlockBytes;
inline constexpr std::size_t kMaxEventBytes = 48U << 10;
inline constexpr std::size_t kRecordAlignment = 8;

// Segment header fields, by offset.
namespace segment_field {
inline constexpr std::size_t magic = 0;        // 8 bytes "PSTNSEG\n"
inline constexpr std::size_t format = 8;       // u32 version that wrote it
inline constexpr std::size_t min_reader = 12;  // u32 lowest version that can read it
inline constexpr std::size_t journal = 16;     // 16 bytes journal id
inline constexpr std::size_t number = 32;      // u64 N
inline constexpr std::size_t salt = 40;        // u64 seed of the header checksums in this segment
inline constexpr std::size_t first_lseq = 48;  // u64; everything below it is durable
inline constexpr std::size_t prev = 56;        // 32 bytes chain hash of record first_lseq-1
inline constexpr std::size_t sealed_end = 88;  // u64 byte offset where segment N-1 ends; 0 for the first
inline constexpr std::size_t machine = 96;     // 16 bytes machine id at creation
inline constexpr std::size_t checksum = 112;   // u64 over bytes 0..112
inline constexpr std::size_t size = 120;
}  // namespace segment_field

// Record header fields, by offset; the payload follows at `size`, zero padding to 8 after it.
namespace record_field {
inline constexpr std::size_t magic = 0;   // u32
inline constexpr std::size_t length = 4;  // u32 payload bytes
inline constexpr std::size_t header_checksum =
    8;  // u64 over the header with this field zero, salted by segment
inline constexpr std::size_t payload_checksum = 16;  // u64
inline constexpr std::size_t lseq = 24;              // u64
inline constexpr std::size_t durable_upto = 32;      // u64
inline constexpr std::size_t type = 40;              // u16
inline constexpr std::size_t flags = 42;             // u16, kBatchEnd or zero
inline constexpr std::size_t reserved = 44;          // u32, zero
inline constexpr std::size_t prev = 48;              // 32 bytes chain hash of lseq-1
inline constexpr std::size_t size = 80;
}  // namespace record_field

inline constexpr std::uint32_t kRecordMagic = 0x4345'5250;  // "PREC"

// The last record of its batch: what follows is padding up to the next block. Without it a reader could not
// tell a missing record at the end of one block from a wrong one at the start of the next.
inline constexpr std::uint16_t kBatchEnd = 1;

// Leaves one block free, so that a recovery can always copy a whole batch and put OPEN after it.
inline constexpr std::size_t kMaxBatchBytes = kSegmentBytes - kFirstBatchOffset - kBlockBytes;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

enum class RecordType : std::uint16_t {
  event = 1,    // a signed event in canonical JSON
  open = 2,     // recovery's finding: {"class","first_unproven","kept"}
  close = 3,    // a clean stop
  settled = 4,  // open findings and gaps up to a record are dealt with: {"by","through"}
};

static_assert(kFirstBatchOffset % kBlockBytes == 0);
static_assert(kBlockBytes % kSectorBytes == 0);
static_assert(record_field::size % kRecordAlignment == 0);
static_assert(segment_field::size <= kSectorBytes, "a header copy is written whole or not at all");
static_assert(kMaxEventBytes + record_field::size <= kMaxBatchBytes, "any event fits a segment");

}  // namespace postern::ledger
