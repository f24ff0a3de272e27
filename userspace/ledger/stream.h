// SPDX-License-Identifier: Apache-2.0
// A node's own stream: turns bodies into signed, hash-linked events and journals them (SPEC 5.1).
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "ledger/event.h"
#include "ledger/journal.h"

namespace postern::ledger {

struct Draft {
  std::string kind;
  wire::Json body;
};

// Whether the journal is known to hold all that this node ever told others or its kernel.
enum class Continuity { proven, lost };

class Stream {
 public:
  // `journal`, `key` and `clock` must outlive this. `own` are this journal's events so far, in order. Opens a
  // new stream (random id, StreamOpened as its first event) when there is none yet, or when continuity is
  // lost: no (stream, seq) is ever used twice.
  static Result<Stream> open(Journal& journal, const wire::SecretKey& key, const Clock& clock,
                             std::string mesh, const std::vector<Event>& own,
                             Continuity continuity = Continuity::proven);

  // Durable on return; all drafts in one batch.
  Result<> write(std::span<const Draft> drafts);

  const Id128& id() const { return id_; }
  Seq head() const { return seq_; }

 private:
  Stream(Journal& journal, const wire::SecretKey& key, const Clock& clock, std::string mesh);

  Journal* journal_;
  const wire::SecretKey* key_;
  const Clock* clock_;
  std::string mesh_;
  Id128 id_{};
  Seq seq_;
  Hash256 prev_{};
  Lamport lamport_;
};

}  // namespace postern::ledger
