// SPDX-License-Identifier: Apache-2.0
#include "ledger/segment_writer.h"

#include <chrono>

#include "ledger/errors.h"
#include "ledger/spare.h"

namespace postern::ledger {

Result<> SegmentWriter::prepare_spare() {
  if (has_spare_) return {};
  Result<> spare = ensure_spare(directory_);
  has_spare_ = spare.has_value();
  if (!spare && spare.error().code != errc::disk_full) return poisoned(spare.error().context);
  return spare;
}

Result<Lseq> SegmentWriter::write(std::span<const BatchItem> items) {
  if (Result<> good = poison_.check(); !good) return pass_on(std::move(good));
  // Rule 8: the next roll or recovery must not need disk space, so no record may come to depend on one
  // without it.
  if (Result<> spare = prepare_spare(); !spare) return pass_on(std::move(spare));
  std::size_t bytes = 0;
  for (const BatchItem& item : items)
    bytes += record_bytes(item.payload.size());
  if (position_.offset + round_up(bytes, kBlockBytes) > kSegmentBytes) {
    if (Result<> rolled = roll(); !rolled) return pass_on(std::move(rolled));
  }
  // Rule 3: stamped as it is written, with what is durable now.
  const Lseq durable_upto = durable();
  ChainHead chain = position_.chain;
  Bytes batch;
  batch.reserve(round_up(bytes, kBlockBytes));
  for (const BatchItem& item : items) {
    const bool last = &item == &items.back();
    append_record(batch, chain, durable_upto, item.type, last, item.payload, position_.segment.salt);
  }
  batch.resize(round_up(batch.size(), kBlockBytes));
  if (Result<> written = write_batch(batch); !written) return pass_on(std::move(written));
  position_.offset += batch.size();
  position_.chain = chain;
  return durable();
}

Result<> SegmentWriter::write_batch(ByteView batch) {
  const std::string name = segment_name(position_.segment.number);
  const std::string where = name + " at byte " + std::to_string(position_.offset);
  // Rule 6: whoever else writes here would have left something in the target, or raised the next segment.
  Bytes target(batch.size());
  const Io<> read = read_fully(*position_.file, target, position_.offset);
  if (!read) return poisoned(io_failure(read.error(), "read of " + where).value().context);
  const Io<bool> next = directory_.exists(segment_name(position_.segment.number + 1));
  if (!next || *next || !all_zero(target)) {
    return poisoned("second writer: " + where + " is not free; find the other process");
  }
  // Rule 9. A short write is a failure like any other, and nothing is tried twice.
  const Io<std::size_t> written = position_.file->write_at(batch, position_.offset);
  if (!written) return poisoned(io_failure(written.error(), "write of " + where).value().context);
  if (*written != batch.size()) {
    return poisoned("short write of " + where + ": " + std::to_string(*written) + " of " +
                    std::to_string(batch.size()) + " bytes");
  }
  const auto start = std::chrono::steady_clock::now();
  const Io<> flushed = position_.file->datasync();
  if (!flushed) return poisoned(io_failure(flushed.error(), "fdatasync of " + name).value().context);
  flush_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++flushes_;
  return {};
}

// The spare becomes the next segment, then a new spare is made. A roll that fails half-way leaves it unknown
// which segment is the last: poison. Without space for the new spare the roll stands, and the append is
// refused (rule 8).
Result<> SegmentWriter::roll() {
  if (Result<> ours = lock_.still_named(directory_); !ours) return poisoned(ours.error().context);
  SegmentHeader next = position_.segment;
  next.format = kFormatVersion;
  next.min_reader = kFormatVersion;
  next.number = position_.segment.number + 1;
  next.salt = new_salt();
  next.first_lseq = position_.chain.next;
  next.prev = position_.chain.hash;
  next.sealed_end = position_.offset;
  next.machine = machine_;
  Result<std::unique_ptr<File>> file = raise_segment(directory_, next, {});
  if (!file) return poisoned(file.error().context);
  position_.segment = next;
  position_.file = std::move(*file);
  position_.offset = kFirstBatchOffset;
  has_spare_ = false;
  return prepare_spare();
}

}  // namespace postern::ledger
