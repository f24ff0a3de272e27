// SPDX-License-Identifier: Apache-2.0
// What a gateway that adopts snapshots again and again journals, for runs in which compactions drop most of
// it: real events of one stream, and what a start must tell of them (SPEC 4.8, 5.3).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ledger/authority_log.h"
#include "ledger/journal.h"
#include "ledger/stream_history.h"
#include "sim/random_source.h"
#include "support/authority_history.h"
#include "wire/sign.h"

namespace postern::ledger::sim {

class GatewayEvents {
 public:
  // Parts of a state that these events can come to, each owed to one of them, and StreamOpened.
  static constexpr std::size_t kMostKept = 8 + 3 + 3 + 1;

  GatewayEvents(const wire::SecretKey& key, RandomSource& random)
      : key_(key), random_(random), history_(static_cast<unsigned>(random.next())) {}

  // What the stream goes on with; some are large.
  std::vector<std::string> batch(std::size_t most_bytes);
  // Whether the journal took it. What it did not take is written once more, and otherwise.
  void told(bool taken);
  // After a start: `whole` are all events that the journal ever owed, `found` those that it showed, some of
  // them out of its base. Goes on after the last of them. What is wrong, or "".
  std::string go_on(std::span<const std::string> whole, const std::vector<Record>& found, const Base* base);

 private:
  struct Place {
    Seq seq;
    Hash256 prev{};
    friend bool operator==(const Place&, const Place&) = default;
  };

  std::string next(std::size_t most_bytes);

  const wire::SecretKey& key_;
  RandomSource& random_;
  testing::RandomHistory history_;
  Place at_;     // of the last event that was made
  Place taken_;  // of the last one that a journal took
};

}  // namespace postern::ledger::sim
