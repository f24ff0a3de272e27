// SPDX-License-Identifier: Apache-2.0
#include "agent/journal_compaction.h"

#include <chrono>

#include "ledger/event_rules.h"

namespace postern::agent {

void JournalCompaction::start_if_wanted() {
  const std::uint64_t segment = journal_.status().segment;
  if (running_.valid() || segment == tried_segment_ || !journal_.wants_compaction()) return;
  tried_segment_ = segment;
  const std::int64_t now_ms = clock_.wall_ms();
  running_ = std::async(std::launch::async, [this, now_ms] {
    ledger::EventSummary summary(ledger::compaction_rules(), key_.public_key());
    return journal_.compact({key_, summary, now_ms});
  });
}

std::optional<Result<ledger::CompactionReport>> JournalCompaction::take_result() {
  if (!running_.valid() || running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return {};
  return running_.get();
}

}  // namespace postern::agent
