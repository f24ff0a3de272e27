// SPDX-License-Identifier: Apache-2.0
// What a compaction keeps of the records that it does away with (SPEC 4.8). The journal hands records over;
// what they mean is known here.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "ledger/base.h"
#include "ledger/event.h"
#include "ledger/own_lineage.h"
#include "ledger/record.h"
#include "ledger/retention.h"
#include "ledger/stream_summary.h"

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

// The summary of real events: heads of all streams (as far as they are dense), the highest floors; of kinds
// that a rule knows, the events that it needs of those that this journal wrote, and those that their stream's
// author has not summed up yet (stream_summary.h); of every other kind, of a stream behind a hole, and of
// what was rescued from behind damage, all. Memory: what is kept, and at most as much again.
class EventSummary final : public Summary {
 public:
  using Rules = std::vector<std::unique_ptr<Retention>>;

  // Each rule fresh, and no kind known to two of them. `own`: the node whose journal it is; rules and floors
  // look at what it wrote alone, since that is all that it remembers itself by.
  EventSummary(Rules rules, const wire::PublicKey& own);
  EventSummary(const EventSummary&) = delete;
  EventSummary& operator=(const EventSummary&) = delete;

  Result<> start(const BaseState& earlier) override;
  Result<> add(const Record& record) override;
  Result<bool> rescue(const Record& record) override;
  Result<BaseState> finish() override;

 private:
  Result<> take(KeptEvent kept, bool rescued, bool from_base);
  // Who says whether an event of state_.events stays; no rule: it does.
  struct Judged {
    const Retention* rule = nullptr;
    EventId event;
  };
  void drop_unneeded();

  // Of others' events of a kind that a rule knows.
  class NeedsNone final : public Retention {
   public:
    std::vector<std::string> kinds() const override { return {}; }
    Result<> see(Lseq, const Event&) override { return {}; }
    std::set<Lseq> needed() const override { return {}; }
  };

  Rules rules_;
  NeedsNone of_others_;
  OwnLineage lineage_;
  std::map<std::string, Retention*> rule_by_kind_;
  BaseState state_;
  StreamSummary streams_{state_.streams};
  std::vector<Judged> judged_;  // of state_.events, one for one
  std::size_t drop_at_ = 0;     // so many events are looked through once more
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
