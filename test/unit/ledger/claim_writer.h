// SPDX-License-Identifier: Apache-2.0
// Gateways that write claim events, for tests of what these add up to.
#pragma once

#include <doctest/doctest.h>

#include "ledger/claim_events.h"
#include "ledger/claim_fold.h"
#include "ledger/fold.h"
#include "stream_writer.h"

namespace postern::testing {

inline constexpr ResourceNumber kVip(1);

class ClaimWriter {
 public:
  ClaimWriter() : writer_(key) { opened = writer_.write(std::string(ledger::kStreamOpened)); }

  // A claim under `epoch` that follows on `prior`, as far as its author knew.
  ledger::SealedEvent acquire(std::uint64_t epoch, std::optional<ledger::Token> prior = {},
                              std::optional<ledger::EventId> prior_end = {}) {
    ledger::ClaimAcquired claim;
    claim.resource = kVip;
    claim.epoch = Epoch(epoch);
    claim.prior = prior;
    claim.prior_end = prior_end;
    claim.ttl_ms = 10'000;
    claim.session = session;
    return write(claim, epoch);
  }
  ledger::SealedEvent release(const ledger::SealedEvent& claim) {
    return write(ledger::ClaimReleased{kVip, id(claim), session});
  }
  ledger::SealedEvent write(const ledger::ClaimEvent& said, std::uint64_t lamport = 0) {
    ledger::Draft draft = ledger::draft_of(said);
    if (lamport > 0) writer_.witness(Lamport(lamport - 1));
    return writer_.write(std::move(draft.kind), std::move(draft.body));
  }
  // The stream goes on twice from here.
  ClaimWriter fork() const { return *this; }

  static ledger::EventId id(const ledger::SealedEvent& e) { return {e.event.stream, e.event.seq}; }
  static ledger::Token token(const ledger::SealedEvent& e) {
    return ledger::token_of(e.event, std::get<ledger::ClaimAcquired>(**ledger::read_claim_event(e.event)));
  }
  wire::PublicKey node() const { return key.public_key(); }

  // Copies of a writer share it.
  const wire::SecretKey& key = *new_key();
  Id128 session{7};
  ledger::SealedEvent opened;

 private:
  static wire::SecretKey* new_key() {
    static std::vector<std::unique_ptr<wire::SecretKey>> keys;
    keys.push_back(std::make_unique<wire::SecretKey>(wire::SecretKey::generate()));
    return keys.back().get();
  }
  ledger::StreamWriter writer_;
};

inline ledger::Roster roster_of(const std::vector<wire::PublicKey>& candidates, Epoch floor = Epoch()) {
  ledger::Roster roster;
  roster.mesh = "blue";
  roster.resources[kVip] = {"vip", candidates, {}, 10'000, floor};
  return roster;
}

}  // namespace postern::testing
