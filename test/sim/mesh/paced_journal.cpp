// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/paced_journal.h"

#include <utility>

#include "ledger/errors.h"

namespace postern::sim {

namespace {

constexpr std::size_t kMostInBatch = 4;
constexpr std::size_t kMostBatchBytes = 16384;

}  // namespace

PacedJournal::PacedJournal(std::unique_ptr<ledger::Journal> journal, ledger::sim::RandomSource& random)
    : journal_(std::move(journal)), random_(random) {}

PacedJournal::~PacedJournal() {
  for (const Submission& submission : waiting_)
    submission.done(fail(ledger::errc::poisoned, "the journal is gone"));
}

bool PacedJournal::write_some() {
  if (waiting_.empty()) return false;
  const std::size_t wanted = random_.between(1, kMostInBatch);
  std::vector<std::string> payloads;
  std::vector<std::pair<std::size_t, ledger::Completion>> written;  // how many payloads each has
  std::size_t bytes = 0;
  while (!waiting_.empty() && written.size() < wanted && (written.empty() || bytes < kMostBatchBytes)) {
    Submission next = std::move(waiting_.front());
    waiting_.pop_front();
    written.emplace_back(next.payloads.size(), std::move(next.done));
    for (std::string& payload : next.payloads) {
      bytes += payload.size();
      payloads.push_back(std::move(payload));
    }
  }
  const Result<Lseq> last = journal_->append(payloads);
  std::size_t after = payloads.size();
  for (const auto& [count, done] : written) {
    after -= count;
    done(last ? Result<Lseq>(Lseq(last->value - after)) : last);
  }
  return true;
}

}  // namespace postern::sim
