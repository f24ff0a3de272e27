// SPDX-License-Identifier: Apache-2.0
// What the journal says of the authority: the sum of its events (SPEC 5.2). A fold: the same events give the
// same state, at work and after a restart.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "authority/adoption_rules.h"
#include "ledger/authority_events.h"
#include "ledger/event.h"
#include "ledger/stream.h"

namespace postern::ledger {

struct AuthorityState {
  // The last AuthorityAdopted: the highest serial, to which the next one chains and whose root decides, even
  // while the one before it is served. Its floors are `floors`.
  std::optional<authority::Adopted> adopted;
  std::optional<Earlier> previous;              // what a rollback returns to, or has returned to
  std::optional<UtcSeconds> unconfirmed_until;  // the adopted one is on trial
  bool reverted = false;                        // `previous` is served; the adopted one is refused for good
  bool active = false;                          // an AuthorityActive followed for the one to serve
  Generation generation;                        // highest seen in AuthorityActive

  std::map<std::string, Epoch> floors;     // highest that the authority ever signed
  std::map<ResourceNumber, Epoch> fences;  // highest that the kernel was ever told, removed resources too
  std::optional<TimestampSeen> timestamp;  // the last one
  std::optional<AuthorityEquivocated> conflict;
  UtcSeconds clock_floor;  // highest signed time of issue: it is at least as late
};

// The snapshot to serve; none before the first adoption.
std::optional<SnapshotId> to_serve(const AuthorityState& state);

void fold(AuthorityState& state, const AuthorityEvent& event);
// Folds one event; other kinds change nothing. Fails on a malformed body, and then changes nothing either.
Result<> apply_event(AuthorityState& state, const Event& event);

// The floors and fences that `raised` lifts above those of the state, as events that each fit a record; none
// when it lifts none.
std::vector<AuthorityFloors> rises(const AuthorityState& state, const AuthorityFloors& raised);

// Name of the snapshot's file beside the segments.
std::string snapshot_file_name(const SnapshotId& id);

}  // namespace postern::ledger
