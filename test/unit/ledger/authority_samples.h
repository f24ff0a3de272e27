// SPDX-License-Identifier: Apache-2.0
// Events of an authority whose snapshots are told apart by their serials.
#pragma once

#include <optional>

#include "ledger/authority_log.h"

namespace postern::testing {

inline ledger::SnapshotId snapshot_id(std::uint64_t serial) {
  ledger::SnapshotId id{Serial(serial), {}};
  id.hash.fill(static_cast<std::uint8_t>(serial));
  return id;
}

inline authority::Root sample_root(std::uint8_t fill = 1) {
  wire::PublicKey key;
  key.bytes.fill(fill);
  return {1, {key}};
}

inline ledger::AuthorityAdopted adopted_event(std::uint64_t serial,
                                              std::optional<std::uint64_t> previous = std::nullopt) {
  ledger::AuthorityAdopted out;
  out.id = snapshot_id(serial);
  out.root = sample_root();
  out.issued = UtcSeconds(static_cast<std::int64_t>(serial) * 100);
  out.expires = UtcSeconds(1'000'000);
  if (previous) out.previous = ledger::Earlier{snapshot_id(*previous), sample_root()};
  return out;
}

inline ledger::Event event_of(const ledger::AuthorityEvent& body) {
  const ledger::Draft draft = ledger::draft_of(body);
  ledger::Event event;
  event.kind = draft.kind;
  event.body = draft.body;
  return event;
}

}  // namespace postern::testing
