// SPDX-License-Identifier: Apache-2.0
// What a journal's events tell of a node's own stream, one by one in order: where it ends. Bounded, however
// long the journal is. Of what was compacted away only some events come by; the base's heads say how far they
// went, and the first event behind them must follow on.
#pragma once

#include <optional>

#include "ledger/base.h"
#include "ledger/event.h"
#include "ledger/own_lineage.h"
#include "ledger/record.h"
#include "ledger/skeleton.h"

namespace postern::ledger {

// The last event of a stream that a replay saw.
struct StreamEnd {
  Id128 stream{};
  Seq seq;
  Hash256 hash{};                // of that event; the next one's `prev`
  Lseq opened_at;                // where its StreamOpened stands in the journal
  bool has_predecessor = false;  // an earlier stream of this node was given up for it

  friend bool operator==(const StreamEnd&, const StreamEnd&) = default;
};

class StreamHistory {
 public:
  explicit StreamHistory(const wire::PublicKey& key) : lineage_(key) {}

  // The next event and the record that it stood in. errc::event_invalid when the own stream has a gap: such a
  // journal cannot be continued.
  Result<> add(const Event& event, const Record& record);
  // After the last one. `base` is what the replay started from, or null.
  Result<> finish(const Base* base);

  const std::optional<StreamEnd>& own() const { return own_; }
  // Of that stream's events.
  const OwnSkeleton& own_skeleton() const { return own_skeleton_; }
  // The highest of all events, others' too: what happens after they were seen is later than they are.
  Lamport lamport() const { return lamport_; }

 private:
  // An own event that must follow on what was compacted away.
  struct Seam {
    Id128 stream{};
    Seq seq;
    Hash256 prev{};
  };

  OwnLineage lineage_;
  std::optional<StreamEnd> own_;
  OwnSkeleton own_skeleton_;
  bool from_base_ = false;  // own_ is of an event that the base keeps
  std::optional<Seam> seam_;
  Lamport lamport_;
};

}  // namespace postern::ledger
