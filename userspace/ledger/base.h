// SPDX-License-Identifier: Apache-2.0
// A compacted start, `base-N`: what the segments below seg-N said, as far as anybody still needs it
// (SPEC 4.8). Signed by the node, because it replaces events that were. Text:
// {"key":B64,"sig":B64,"signed":{...}} in canonical JSON; the first two have fixed lengths, so the signature
// is verified before anything is parsed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/record.h"
#include "wire/json.h"
#include "wire/sign.h"

namespace postern::ledger {

inline constexpr std::size_t kMaxBaseBytes = std::size_t{256} << 20;

// How far a stream's events are known without a hole.
struct StreamHead {
  wire::PublicKey key;
  Seq seq;
  Hash256 hash{};  // of event `seq`: the `prev` of the next one
  Lamport lamport;

  friend bool operator==(const StreamHead&, const StreamHead&) = default;
};

// An event that a replay still needs, with its place in the journal.
struct KeptEvent {
  Lseq lseq;
  Hash256 hash{};  // chain hash up to and including it
  std::string payload;

  friend bool operator==(const KeptEvent&, const KeptEvent&) = default;
};

// Records that were acknowledged and are lost. Open until all that stood in them is known again or given up:
// while one is open, nothing is compacted, no grant spent, no claim held (rule 11).
struct Gap {
  Lseq first;
  Lseq last;
  bool open = true;

  friend bool operator==(const Gap&, const Gap&) = default;
};

// What a recovery found, until somebody settles it. `lseq` is that of its OPEN record.
struct Finding {
  Lseq lseq;
  std::string condition;  // "torn", "suspect", "repaired"
  Lseq first_unproven;
  std::uint64_t kept = 0;
  // By an operator: it holds nobody back from spending. Only a round with the peers ends it for claims.
  bool given_up = false;

  friend bool operator==(const Finding&, const Finding&) = default;
};

struct BaseState {
  std::map<Id128, StreamHead> streams;
  std::map<std::string, Epoch> floors;         // by resource; never fall
  std::map<std::string, std::uint64_t> spend;  // by grant, bytes; never fall
  std::vector<KeptEvent> events;               // ascending by lseq
  std::vector<Finding> findings;
  std::vector<Gap> gaps;                    // ascending, apart from each other
  wire::Json claims = wire::Json::array();  // the skeleton of the claims; kept as it is

  friend bool operator==(const BaseState&, const BaseState&) = default;
};

struct Base {
  Id128 journal{};
  std::uint64_t number = 0;  // of the first segment that is read after it
  Lseq lseq;                 // the last record that it stands for
  Hash256 hash{};            // chain hash up to and including that record
  std::int64_t made_ms = 0;  // wall clock, for people
  wire::PublicKey key;       // the node that signed it
  BaseState state;

  friend bool operator==(const Base&, const Base&) = default;

  ChainHead chain() const { return {lseq.next(), hash}; }
};

// `base.key` must be the key's own.
std::string seal_base(const Base& base, const wire::SecretKey& key);

// Strict inverse: signature by the key that it names (whose it is, the caller knows), then canonical bytes,
// known fields, ascending lists. errc::newer_format for one that a later version wrote for later versions
// only, else errc::base_invalid.
Result<Base> open_base(std::string_view text);

// errc::foreign_base, with the remedy, when `base` is signed by another key than the node's. What it says is
// then nobody's word: it was put there, or the node's key was.
Result<> refuse_foreign_base(const Base& base, const wire::PublicKey& node);

// "base-7", and back: only the canonical spelling.
std::string base_name(std::uint64_t number);
std::optional<std::uint64_t> base_number(std::string_view name);

}  // namespace postern::ledger
