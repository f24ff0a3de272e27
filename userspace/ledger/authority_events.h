// SPDX-License-Identifier: Apache-2.0
// The events by which a gateway remembers its authority (SPEC 5.2), as types; authority_log.h says what they
// add up to.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "authority/snapshot.h"
#include "authority/timestamp.h"
#include "core/bytes.h"
#include "core/ids.h"
#include "ledger/event.h"
#include "ledger/stream.h"

namespace postern::ledger {

// A snapshot's place in history.
struct SnapshotId {
  Serial serial;
  Hash256 hash{};
  friend bool operator==(const SnapshotId&, const SnapshotId&) = default;
};

// A snapshot and the root that it carries.
struct Earlier {
  SnapshotId id;
  authority::Root root;
  friend bool operator==(const Earlier&, const Earlier&) = default;
};

// Written before AuthorityAdopted, in the same batch: the floors and fences that the snapshot raises. They
// count even when the adoption is cut short in between: the authority signed them.
// {"fences":{number:epoch},"floors":{resource:epoch}}
struct AuthorityFloors {
  std::map<std::string, Epoch> floors;
  std::map<ResourceNumber, Epoch> fences;
};

// Decides: from its durability on, this snapshot is the one to serve.
// {"expires","hash","issued","previous":{"hash","root","serial"}|null,"recovered","root","serial",
//  "unconfirmed_until":instant|null}
struct AuthorityAdopted {
  SnapshotId id;
  authority::Root root;
  UtcSeconds issued;
  UtcSeconds expires;
  std::optional<Earlier> previous;              // what a rollback returns to
  std::optional<UtcSeconds> unconfirmed_until;  // it is on trial until then, and reverts unless confirmed
  bool recovered = false;  // an operator's recovery: ends a conflict, resets the clock's floor
};

// {"generation","hash","serial"}
struct AuthorityActive {
  SnapshotId id;
  Generation generation;
};

// {"hash","serial"}: the adopted snapshot is on trial no more.
struct AuthorityConfirmed {
  SnapshotId id;
};

enum class RevertCause { operator_order, timeout, restart };

// {"cause","hash","serial"}: the adopted snapshot is refused for good, the one before it is served.
struct AuthorityReverted {
  SnapshotId id;
  RevertCause cause = RevertCause::operator_order;
};

// {"document":text|null,"hash","other","serial"}: the authority vouched for two snapshots of one serial. What
// was adopted stays; nothing is adopted any more until a recovery. `document` is the signed timestamp that
// names `other`, if no snapshot does.
struct AuthorityEquivocated {
  SnapshotId id;
  Hash256 other{};
  std::string document;
};

// {"document","expires","hash","issued","serial"}: `document` is the signed timestamp itself.
struct TimestampSeen {
  SnapshotId id;
  UtcSeconds issued;
  UtcSeconds expires;
  std::string document;
};

using AuthorityEvent = std::variant<AuthorityFloors, AuthorityAdopted, AuthorityActive, AuthorityConfirmed,
                                    AuthorityReverted, AuthorityEquivocated, TimestampSeen>;

Draft draft_of(const AuthorityEvent& event);
std::vector<std::string> authority_event_kinds();

// Nothing for events of other kinds. Fails with errc::event_invalid on a malformed body.
Result<std::optional<AuthorityEvent>> read_authority_event(const Event& event);

std::string_view word_of(RevertCause cause);

}  // namespace postern::ledger
