// SPDX-License-Identifier: Apache-2.0
// What the journal says of the authority: the events AuthorityAdopted and AuthorityActive (SPEC 5.2), and
// what they add up to. AuthorityAdopted decides: from its durability on, this snapshot is the one to serve.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "authority/adoption_rules.h"
#include "ledger/event.h"
#include "ledger/stream.h"

namespace postern::ledger {

// {"floors":{resource:epoch},"hash","root":{"keys","threshold"},"serial"}
Draft authority_adopted(const authority::Adopted& adopted);
// {"generation","hash","serial"}
Draft authority_active(Serial serial, const Hash256& hash, Generation generation);

// Name of the snapshot's file beside the segments.
std::string snapshot_file_name(Serial serial, const Hash256& hash);

struct AuthorityState {
  std::optional<authority::Adopted> adopted;   // the last AuthorityAdopted
  std::optional<authority::Adopted> previous;  // the one before: its file is kept
  bool active = false;                         // an AuthorityActive followed it
  Generation generation;                       // highest seen in AuthorityActive
};

// Folds one event; other kinds change nothing. Fails on a malformed body.
Result<> apply_event(AuthorityState& state, const Event& event);

}  // namespace postern::ledger
