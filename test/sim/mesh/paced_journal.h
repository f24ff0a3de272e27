// SPDX-License-Identifier: Apache-2.0
// The real journal, whose submissions wait for the simulation's word. The flush thread takes what is there
// when it wakes up, which no seed determines; here chance, which the seed does determine, says how many
// submissions a batch has.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ledger/journal.h"
#include "sim/random_source.h"

namespace postern::sim {

class PacedJournal final : public ledger::Journal {
 public:
  // `random` must outlive it.
  PacedJournal(std::unique_ptr<ledger::Journal> journal, ledger::sim::RandomSource& random);
  // What still waits is never acknowledged.
  ~PacedJournal() override;
  PacedJournal(const PacedJournal&) = delete;
  PacedJournal& operator=(const PacedJournal&) = delete;

  // Writes the first of what waits, or the first few in one batch. False: nothing waited.
  bool write_some();

  void submit(std::vector<std::string> event_payloads, ledger::Completion done) override {
    waiting_.push_back({std::move(event_payloads), std::move(done)});
  }

  // ---- as they are
  Result<Lseq> append(std::span<const std::string> event_payloads) override {
    return journal_->append(event_payloads);
  }
  Result<ledger::CompactionReport> compact(const ledger::CompactionOrder& order) override {
    return journal_->compact(order);
  }
  bool wants_compaction() const override { return journal_->wants_compaction(); }
  Result<ledger::Page> read_page(const ledger::Cursor& from,
                                 const ledger::PageLimits& limits) const override {
    return journal_->read_page(from, limits);
  }
  Result<Lseq> settle(Lseq through, ledger::SettledBy by) override { return journal_->settle(through, by); }
  Result<> close() override { return journal_->close(); }
  Result<> still_ours() override { return journal_->still_ours(); }
  const ledger::RecoveryReport& recovery() const override { return journal_->recovery(); }
  ledger::JournalStatus status() const override { return journal_->status(); }
  Result<> put_file(std::string_view name, std::string_view content) override {
    return journal_->put_file(name, content);
  }
  Result<std::string> get_file(std::string_view name, std::size_t limit_bytes) const override {
    return journal_->get_file(name, limit_bytes);
  }
  Result<std::vector<std::string>> list_files(std::string_view prefix) const override {
    return journal_->list_files(prefix);
  }
  Result<> remove_file(std::string_view name) override { return journal_->remove_file(name); }

 private:
  struct Submission {
    std::vector<std::string> payloads;
    ledger::Completion done;
  };

  std::unique_ptr<ledger::Journal> journal_;
  ledger::sim::RandomSource& random_;
  std::deque<Submission> waiting_;
};

}  // namespace postern::sim
