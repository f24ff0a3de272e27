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

// The next record that the reader wants. A zero journal id is the beginning of whatever journal this is.
struct Cursor {
  Id128 journal{};
  Lseq next{1};

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

struct PageLimits {
  std::size_t events = 1000;
  std::size_t bytes = std::size_t{1} << 20;  // of payloads; the first event is given however large it is
};

struct Page {
  bool reset = false;  // the cursor was of another journal: this page starts from the beginning of this one
  // Records of these numbers are gone for good: compacted or lost. What is kept of them stands among
  // `events`.
  std::vector<Gap> missing;
  std::vector<Record> events;  // durable events alone, ascending
  Cursor next;                 // where to go on
  bool at_end = false;         // nothing durable lies behind `next` now
};

}  // namespace postern::ledger
