// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/result.h"
#include "ledger/authority_log.h"
#include "ledger/stream.h"

namespace postern::agent {

// What this gateway remembers of its authority, and the only way to remember more: durable first, then known.
class AuthorityRecord {
 public:
  // Both must outlive this. `state` is the fold of the journal's events so far.
  AuthorityRecord(ledger::Stream& stream, ledger::AuthorityState& state) : stream_(&stream), state_(&state) {}

  const ledger::AuthorityState& state() const { return *state_; }

  // Journals the events in one batch and then folds them, as a restart would. On failure the state is as it
  // was.
  Result<> write(std::span<const ledger::AuthorityEvent> events);
  Result<> write(const ledger::AuthorityEvent& event) { return write({&event, 1}); }

 private:
  ledger::Stream* stream_;
  ledger::AuthorityState* state_;
};

}  // namespace postern::agent
