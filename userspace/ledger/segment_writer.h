// SPDX-License-Identifier: Apache-2.0
// The write side (SPEC 4.5). One batch is in flight at a time: encoded, stamped with what is durable at that
// moment, written to zeros by one call, flushed, and only then acknowledged. Anything that goes wrong between
// the write and the return of the flush poisons the journal for this process: whether the batch is on the
// disk is then unknown, and trying again would only hide that.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ledger/directory.h"
#include "ledger/lock.h"
#include "ledger/poison.h"
#include "ledger/record.h"
#include "ledger/recovery.h"

namespace postern::ledger {

struct BatchItem {
  RecordType type = RecordType::event;
  std::string_view payload;
};

// Not for several threads at once: group_commit.h lets one in after the other.
class SegmentWriter {
 public:
  // `directory`, `lock` and `poison` must outlive this.
  SegmentWriter(Directory& directory, const Lock& lock, Poison& poison, const Id128& machine,
                WritePosition position)
      : directory_(directory),
        lock_(lock),
        poison_(poison),
        machine_(machine),
        position_(std::move(position)) {}

  // Makes the spare unless it is there (rule 8). Without space: errc::disk_full, which write() gives until
  // there is.
  Result<> prepare_spare();

  // One batch of kMaxBatchBytes at most, not empty. Durable on return; the lseq of the last record.
  Result<Lseq> write(std::span<const BatchItem> items);

  const SegmentHeader& segment() const { return position_.segment; }
  const ChainHead& chain() const { return position_.chain; }
  Lseq durable() const { return Lseq(position_.chain.next.value - 1); }
  std::uint64_t flushes() const { return flushes_; }
  double flush_seconds() const { return flush_seconds_; }  // their sum

 private:
  Result<> write_batch(ByteView batch);
  Result<> roll();
  tl::unexpected<Error> poisoned(const std::string& reason) {
    return tl::unexpected<Error>(poison_.set(reason));
  }

  Directory& directory_;
  const Lock& lock_;
  Poison& poison_;
  const Id128 machine_;
  WritePosition position_;
  bool has_spare_ = false;
  std::uint64_t flushes_ = 0;
  double flush_seconds_ = 0;
};

}  // namespace postern::ledger
