// SPDX-License-Identifier: Apache-2.0
// The journal over a directory of segments: Journal as it really is. Of its own so that it can be put on any
// Directory; everybody else uses Journal::create and Journal::open.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ledger/directory.h"
#include "ledger/group_commit.h"
#include "ledger/journal.h"
#include "ledger/lock.h"
#include "ledger/page_reader.h"
#include "ledger/poison.h"
#include "ledger/recovery.h"
#include "ledger/segment_writer.h"
#include "ledger/writer_socket.h"

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
  Result<Lseq> settle(Lseq through, SettledBy by) override;
  Result<> close() override;
  Result<> still_ours() override;
  const RecoveryReport& recovery() const override { return report_; }
  JournalStatus status() const override;
  Result<> put_file(std::string_view name, std::string_view content) override;
  Result<std::string> get_file(std::string_view name, std::size_t limit_bytes) const override;
  Result<std::vector<std::string>> list_files(std::string_view prefix) const override;
  Result<> remove_file(std::string_view name) override;

 private:
  // What other threads than the writing one may see: published after each flush.
  struct Published {
    JournalStatus status;
    PageSource pages;
    Findings findings;
    std::uint64_t files = 0;  // segments in the directory
  };

  SegmentedJournal(std::unique_ptr<Directory> directory, Lock lock, const JournalOptions& options,
                   Id128 machine);

  Result<> start(const Examination& found, WritePosition position);
  Result<> replay_end(Examination found, const std::function<Result<>(const Record&)>& replay);
  void publish_start(const Examination& found);
  Result<Lseq> write(std::span<const BatchItem> items);
  void publish_end();
  Result<> writable() const;
  PageSource page_source() const;

  std::unique_ptr<Directory> directory_;
  Lock lock_;
  std::optional<WriterSocket> writer_socket_;
  std::function<void(const JournalStatus&)> after_flush_;
  const Id128 machine_;
  const std::uint64_t compaction_bytes_;
  RecoveryReport report_;
  Poison poison_;
  std::atomic<bool> closed_ = false;

  mutable std::mutex mutex_;  // of published_
  Published published_;
  std::mutex compaction_;                // one at a time
  std::optional<SegmentWriter> writer_;  // used by whoever leads a batch
  std::optional<GroupCommit> commits_;   // last: its thread ends before what it uses goes
};

}  // namespace postern::ledger
