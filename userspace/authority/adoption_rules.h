// SPDX-License-Identifier: Apache-2.0
// May this snapshot follow that one? A pure decision over what was adopted before (SPEC 3.4).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "authority/errors.h"
#include "authority/snapshot.h"

namespace postern::authority {

// What the journal remembers of the authority.
struct Adopted {
  Serial serial;
  Hash256 hash{};
  Root root;
  std::map<std::string, Epoch> floors;
};

struct Candidate {
  Snapshot snapshot;
  Hash256 hash{};
  bool satisfies_own_root = false;  // signed by the threshold of the root that it carries itself, too
};

// Verifies the file's signatures with `trusted` (the adopted root, or the trust anchor's before the first
// adoption), and only then parses it.
Result<Candidate> verify_snapshot(std::string_view file, const Root& trusted, std::string_view mesh);

// Fails with rollback (lower serial), equivocation (same serial, other hash), history (prev does not chain),
// root_change (a new root needs the very next serial and signatures of the old and the new root), floor_fell,
// expired. The same serial with the same hash succeeds: adopting again changes nothing.
Result<> may_adopt(const Candidate& candidate, const std::optional<Adopted>& adopted, UtcSeconds now);

}  // namespace postern::authority
