// SPDX-License-Identifier: Apache-2.0
#include "ledger/segment_walk.h"

#include <algorithm>

namespace postern::ledger {

Result<Extent> walk_records(ByteView image, const SegmentHeader& segment, Lseq until, const Visit& visit) {
  Extent extent;
  extent.chain = {segment.first_lseq, segment.prev};
  while (extent.chain.next < until) {
    const std::optional<RecordHeader> record = decode_record_header(image, extent.end, segment.salt);
    if (!record || !payload_is_whole(image, extent.end, *record)) break;
    if (record->lseq != extent.chain.next || record->prev != extent.chain.hash) break;
    const std::string_view payload = record_payload(image, extent.end, *record);
    const Hash256 hash = chain_hash(record->lseq, record->type, record->prev, payload);
    if (Result<> visited = visit(*record, payload, hash); !visited) return pass_on(std::move(visited));
    extent.chain = {record->lseq.next(), hash};
    extent.durable_upto = std::max(extent.durable_upto, record->durable_upto);
    extent.in_batch = !record->batch_end;
    extent.last_type = record->type;
    extent.end = record_end(extent.end, *record);
  }
  return extent;
}

std::size_t used_end(ByteView image, std::size_t from) {
  std::size_t end = image.size();
  while (end > from) {
    const std::size_t start = std::max(from, (end - 1) / kBlockBytes * kBlockBytes);
    if (!all_zero(image.subspan(start, end - start))) return end;
    end = start;
  }
  return from;
}

}  // namespace postern::ledger
