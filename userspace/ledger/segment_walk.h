// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "core/bytes.h"
#include "core/result.h"
#include "ledger/record.h"
#include "ledger/segment_header.h"

namespace postern::ledger {

// How far the whole records of one segment go.
struct Extent {
  std::size_t end = kFirstBatchOffset;  // the byte after them
  ChainHead chain;
  Lseq durable_upto;      // the highest that one of them claims
  bool in_batch = false;  // the last one is not the last of its batch
  RecordType last_type = RecordType::event;
};

using Visit = std::function<Result<>(const RecordHeader&, std::string_view payload, const Hash256& hash)>;

// Walks whole records in chain order, those below `until` only. Fails with what `visit` failed with.
Result<Extent> walk_records(ByteView image, const SegmentHeader& segment, Lseq until, const Visit& visit);

// The block boundary behind the last byte at or after `from` that is not zero; `from` itself if all are.
std::size_t used_end(ByteView image, std::size_t from);

}  // namespace postern::ledger
