// SPDX-License-Identifier: Apache-2.0
// Reading a journal that is being written and compacted, page by page (SPEC 4.10): for `postern events` and
// for what a peer lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/bytes.h"
#include "core/ids.h"
#include "ledger/base.h"
#include "ledger/record.h"

namespace postern::ledger {

// The next record that the reader wants, and the chain's hash up to the one before, as he had it: after a
// loss numbers are used again, and the hash tells that what he had is not what stands there now. A zero
// journal id is the beginning of whatever journal this is; a zero hash is not compared.
struct Cursor {
  Id128 journal{};
  Lseq next{1};
  Hash256 hash{};

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

struct PageLimits {
  std::size_t events = 1000;
  std::size_t bytes = std::size_t{1} << 20;  // of payloads; the first event is given however large it is
};

struct Page {
  // The cursor was of another journal, or of another history of this one, or nobody can tell any more: this
  // page starts from the beginning. What the reader has counts for nothing: it may be of what was lost.
  bool reset = false;
  // Records of these numbers are gone for good: compacted or lost. What is kept of them stands among
  // `events`.
  std::vector<Gap> missing;
  std::vector<Record> events;  // durable events alone, ascending
  Cursor next;                 // where to go on
  bool at_end = false;         // nothing durable lies behind `next` now
};

}  // namespace postern::ledger
