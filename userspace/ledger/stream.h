// SPDX-License-Identifier: Apache-2.0
// A node's own stream: turns bodies into signed, hash-linked events and journals them (SPEC 5.1).
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "ledger/continuity.h"
#include "ledger/event.h"
#include "ledger/journal.h"
#include "ledger/stream_history.h"

namespace postern::ledger {

struct Draft {
  std::string kind;
  wire::Json body;
};

class Stream {
 public:
  // Told of each event once it is durable, in order, with its place in the journal.
  using Durable = std::function<void(const Event&, const std::string& sealed, Lseq)>;

  // `journal`, `key` and `clock` must outlive this. `history` has seen this journal's events. Goes on with
  // the own stream if there is one and `continuation` allows it; else opens a new one (random id) with
  // StreamOpened{predecessor, last_seq, head}, all null for the first ever. `told` may be empty.
  static Result<Stream> open(Journal& journal, const wire::SecretKey& key, const Clock& clock,
                             std::string mesh, const StreamHistory& history, const Continuation& continuation,
                             Durable told = {});

  // Gives the stream up for a new one, whose StreamOpened names it. Durable on return.
  Result<> renew();

  // Durable on return; all drafts in one batch. Now and then a StreamCondensed goes with them, which sums up
  // the stream for those who come late.
  Result<> write(std::span<const Draft> drafts);

  // What is written from now on is later than `lamport`.
  void witness(Lamport lamport) { lamport_ = std::max(lamport_, lamport); }

  const Id128& id() const { return id_; }
  Seq head() const { return seq_; }

 private:
  Stream(Journal& journal, const wire::SecretKey& key, const Clock& clock, std::string mesh);
  Result<> begin(const std::optional<StreamEnd>& predecessor);
  // Signed and sealed events of these drafts, and what the stream is behind them.
  struct Batch;
  void seal_into(Batch& batch, const Draft& draft) const;

  Journal* journal_;
  const wire::SecretKey* key_;
  const Clock* clock_;
  std::string mesh_;
  Id128 id_{};
  Seq seq_;
  Hash256 prev_{};
  Lamport lamport_;
  OwnSkeleton skeleton_;
  Durable durable_;
};

}  // namespace postern::ledger
