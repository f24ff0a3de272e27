// SPDX-License-Identifier: Apache-2.0
// The journal over a directory of segments: Journal as it really is. Of its own so that it can be put on any
// Directory; everybody else uses Journal::create and Journal::open.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ledger/directory.h"
#include "ledger/journal.h"
#include "ledger/lock.h"
#include "ledger/recovery.h"

namespace postern::ledger {

class SegmentedJournal final : public Journal {
 public:
  // `options.directory` plays no part: `directory` is it.
  static Result<> create(std::unique_ptr<Directory> directory, const JournalOptions& options);
  static Result<std::unique_ptr<Journal>> open(std::unique_ptr<Directory> directory,
                                               const JournalOptions& options,
                                               const std::function<Result<>(const Record&)>& replay);

  Result<Lseq> append(std::span<const std::string> event_payloads) override;
  void submit(std::vector<std::string> event_payloads, Completion done) override;
  Result<CompactionReport> compact(const CompactionOrder& order) override;
  bool wants_compaction() const override;
  Result<Page> read_page(const Cursor& from, const PageLimits& limits) const override;
  Result<Lseq> settle(Lseq through) override;
  Result<> close() override;
  const RecoveryReport& recovery() const override { return report_; }
  JournalStatus status() const override;
  Result<> put_file(std::string_view name, std::string_view content) override;
  Result<std::string> get_file(std::string_view name, std::size_t limit_bytes) const override;
  Result<std::vector<std::string>> list_files(std::string_view prefix) const override;
  Result<> remove_file(std::string_view name) override;

 private:
  struct Item {
    RecordType type;
    std::string_view payload;
  };

  SegmentedJournal(std::unique_ptr<Directory> directory, Lock lock, const JournalOptions& options,
                   Id128 machine)
      : directory_(std::move(directory)),
        lock_(std::move(lock)),
        after_flush_(options.after_flush),
        machine_(machine) {}

  Result<> writable() const;
  Result<> write(std::span<const Item> items);
  Result<> write_batch(ByteView batch);
  Result<> roll();
  Error poison(std::string reason);
  Lseq durable() const { return Lseq(position_.chain.next.value - 1); }

  std::unique_ptr<Directory> directory_;
  Lock lock_;
  std::function<void(const JournalStatus&)> after_flush_;
  Id128 machine_{};
  RecoveryReport report_;
  WritePosition position_;
  bool has_spare_ = false;
  bool closed_ = false;
  std::string poison_reason_;  // not empty: poisoned
  std::uint64_t flushes_ = 0;
  double flush_seconds_ = 0;
};

}  // namespace postern::ledger
