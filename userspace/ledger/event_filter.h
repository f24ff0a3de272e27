// SPDX-License-Identifier: Apache-2.0
// Which events somebody wants to see (SPEC 5.6). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/ids.h"
#include "ledger/event.h"
#include "wire/sign.h"

namespace postern::ledger {

// Each part that is set has to hold; of a list one of its entries. Bounds belong to their ranges.
struct EventFilter {
  std::vector<std::string> kinds;
  std::vector<wire::PublicKey> authors;
  std::optional<Id128> stream;
  std::optional<Lamport> since;
  std::optional<Lamport> until;
  // By the authors' own clocks, which nothing is decided by: for people.
  std::optional<std::int64_t> since_ms;
  std::optional<std::int64_t> until_ms;
};

bool matches(const EventFilter& filter, const Event& event);

}  // namespace postern::ledger
