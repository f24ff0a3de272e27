// SPDX-License-Identifier: Apache-2.0
// One record (SPEC 4.4). Checksums catch accidents, the chain catches wrong order and tampering; who wrote an
// event is the business of its signature.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.h"
#include "core/ids.h"
#include "ledger/format.h"

namespace postern::ledger {

// A record's place in the chain. `hash` is that of the record before: zero for the first of a journal.
struct ChainHead {
  Lseq next{1};
  Hash256 hash{};
};

// A record's header as it stands in a segment.
struct RecordHeader {
  std::uint32_t length = 0;  // of the payload
  std::uint64_t payload_checksum = 0;
  Lseq lseq;
  Lseq durable_upto;  // highest lseq whose flush had returned when the record was written
  RecordType type = RecordType::event;
  bool batch_end = false;
  Hash256 prev{};
};

// A record as readers of the journal get it.
struct Record {
  Lseq lseq;
  RecordType type = RecordType::event;
  Hash256 hash{};  // chain hash up to and including this record
  std::string payload;
  bool from_base = false;  // kept by a compaction: vouched for by the base's signature
  bool sealed = false;  // of a segment that another one follows: durable whatever the journal's end is like
};

// What a place that was never written reads as.
bool all_zero(ByteView bytes);

// BLAKE2b-256 over {lseq u64, type u16, prev, payload}.
Hash256 chain_hash(Lseq lseq, RecordType type, const Hash256& prev, std::string_view payload);

// Bytes that a record with such a payload takes, padding included.
std::size_t record_bytes(std::size_t payload_bytes);

// Appends the record to `out` and moves `chain` past it.
void append_record(Bytes& out, ChainHead& chain, Lseq durable_upto, RecordType type, bool batch_end,
                   std::string_view payload, std::uint64_t salt);

// The header at `offset`, if one stands there whole: magic, checksum under the segment's salt, known type and
// flags, a length within kMaxEventBytes that stays inside the segment. Says nothing of the payload.
std::optional<RecordHeader> decode_record_header(ByteView segment, std::size_t offset, std::uint64_t salt);

std::string_view record_payload(ByteView segment, std::size_t offset, const RecordHeader& header);
bool payload_is_whole(ByteView segment, std::size_t offset, const RecordHeader& header);

// Where the record after this one stands.
std::size_t record_end(std::size_t offset, const RecordHeader& header);

}  // namespace postern::ledger
