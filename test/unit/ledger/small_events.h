// SPDX-License-Identifier: Apache-2.0
// For tests of compaction: a journal that fills its segments with large events that nobody needs, and a
// summary that keeps the small ones.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ledger/journal.h"
#include "unit/ledger/journal_image.h"

namespace postern::ledger {

class KeepSmall final : public Summary {
 public:
  static constexpr std::size_t kSmallBytes = 1000;

  Result<> start(const BaseState& earlier) override {
    state_.events = earlier.events;
    state_.floors = earlier.floors;
    return {};
  }
  Result<> add(const Record& record) override {
    if (record.payload.size() < kSmallBytes)
      state_.events.push_back({record.lseq, record.hash, record.payload});
    return {};
  }
  Result<bool> rescue(const Record& record) override {
    if (Result<> added = add(record); !added) return pass_on(std::move(added));
    return true;
  }
  Result<BaseState> finish() override { return std::move(state_); }

 private:
  BaseState state_;
};

inline const wire::SecretKey& node_key() {
  static const wire::SecretKey key = wire::SecretKey::generate();
  return key;
}

inline Result<CompactionReport> compact(Journal& journal) {
  KeepSmall summary;
  return journal.compact({node_key(), summary, 1'000});
}

// One small event, then large ones until the segment is full and the next one begun.
inline void fill_segment(Journal& journal, const std::string& small) {
  REQUIRE(journal.append(std::vector<std::string>{small}));
  const std::vector<std::string> large(170, payload_of(48'000));
  const Result<Lseq> written = journal.append(large);
  REQUIRE_MESSAGE(written, (written ? "" : written.error().message()));
  const std::uint64_t segment = journal.status().segment;
  while (journal.status().segment == segment)
    REQUIRE(journal.append(std::vector<std::string>{payload_of(48'000)}));
}

inline std::vector<std::string> small_ones(const std::vector<std::string>& payloads) {
  std::vector<std::string> small;
  for (const std::string& payload : payloads)
    if (payload.size() < KeepSmall::kSmallBytes) small.push_back(payload);
  return small;
}

}  // namespace postern::ledger
