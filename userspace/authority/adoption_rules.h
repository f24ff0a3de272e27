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

// A serial is at most so much higher than the adopted one, so that nobody can use up all numbers: 2^53 is
// thousands of millions of such steps away.
inline constexpr std::uint64_t kMaxSerialStep = std::uint64_t{1} << 20;
// A gateway's first snapshot may be far into a mesh's history, but leaves nearly all of the numbers.
inline constexpr std::uint64_t kMaxFirstSerial = std::uint64_t{1} << 40;

// The rules of history, whatever the time: fails with rollback (lower serial), equivocation (same serial,
// other hash), fast_forward, history (prev does not chain), root_change (a new root needs the very next
// serial and signatures of the old and the new root), floor_fell. The same serial with the same hash
// succeeds.
Result<> may_succeed(const Candidate& candidate, const std::optional<Adopted>& adopted);

// may_succeed, and not expired at `now`. Adopting the same one again changes nothing and succeeds always.
Result<> may_adopt(const Candidate& candidate, const std::optional<Adopted>& adopted, UtcSeconds now);

// For an operator's recovery: the serial is higher, up to kMaxFirstSerial if need be, and `prev` need not
// chain, since it may name either side of a conflict. Root, floors and expiry are judged as ever.
Result<> may_recover(const Candidate& candidate, const std::optional<Adopted>& adopted, UtcSeconds now);

}  // namespace postern::authority
