// SPDX-License-Identifier: Apache-2.0
// What a compaction keeps of the records that it does away with (SPEC 4.8). The journal hands records over;
// what they mean is known here.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "core/result.h"
#include "ledger/base.h"
#include "ledger/event.h"
#include "ledger/record.h"

namespace postern::ledger {

class Summary {
 public:
  virtual ~Summary() = default;

  // Goes on from an earlier base's state. Called at most once, before add().
  virtual Result<> start(const BaseState& earlier) = 0;
  // Event records, in order. Others are the journal's own business: findings and gaps are carried by it.
  virtual Result<> add(const Record& record) = 0;
  // An event found behind damage, where no chain vouches for it: added if it proves itself. False: it does
  // not.
  virtual Result<bool> rescue(const Record& record) = 0;
  // Streams, floors, spend, events and claims; findings and gaps stay empty.
  virtual Result<BaseState> finish() = 0;
};

// Which of these events a replay still needs, one flag for each. Pure.
using Needed = std::function<Result<std::vector<bool>>(const std::vector<Event>& in_order)>;

// The summary of real events: heads of all streams (as far as they are dense), the highest floors; of a kind
// that `rules` names, the events that its rule needs; of every other kind, and of a stream behind a hole, all
// of them.
class EventSummary final : public Summary {
 public:
  struct Rule {
    std::vector<std::string> kinds;
    Needed needed;
  };

  explicit EventSummary(std::vector<Rule> rules) : rules_(std::move(rules)) {}

  Result<> start(const BaseState& earlier) override;
  Result<> add(const Record& record) override;
  Result<bool> rescue(const Record& record) override;
  Result<BaseState> finish() override;

 private:
  Result<> take(KeptEvent kept);
  bool advance(const Event& event, std::string_view payload);
  Result<std::vector<bool>> judge();

  std::vector<Rule> rules_;
  BaseState state_;
  std::vector<Event> events_;      // of state_.events, one for one
  std::vector<bool> behind_hole_;  // likewise
};

// Keeps every event and knows none. For journals whose payloads are not events (tests).
class KeepEverything final : public Summary {
 public:
  Result<> start(const BaseState& earlier) override;
  Result<> add(const Record& record) override;
  Result<bool> rescue(const Record& record) override;
  Result<BaseState> finish() override;

 private:
  BaseState state_;
};

}  // namespace postern::ledger
