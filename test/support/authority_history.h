// SPDX-License-Identifier: Apache-2.0
// What an authority's events may look like, at random, and the state that they come to as one comparable
// text.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "ledger/authority_log.h"
#include "unit/ledger/authority_samples.h"

namespace postern::testing {

// Histories that mix everything: small numbers, so that events meet and contradict each other often.
class RandomHistory {
 public:
  explicit RandomHistory(unsigned seed) : random_(seed) {}

  ledger::AuthorityEvent next() {
    using namespace ledger;
    const std::uint64_t serial = below(4) + 1;
    switch (below(9)) {
      case 0:
        return AuthorityFloors{{{std::string(1, static_cast<char>('a' + below(3))), Epoch(below(6))}},
                               {{ResourceNumber(static_cast<std::uint32_t>(below(3))), Epoch(below(6))}}};
      case 1:
      case 2:
        return adopted(serial);
      case 3:
      case 4:
        return AuthorityActive{snapshot_id(serial), Generation(below(20))};
      case 5:
        return AuthorityConfirmed{snapshot_id(serial)};
      case 6:
        return AuthorityReverted{snapshot_id(serial), RevertCause::timeout};
      case 7:
        return AuthorityEquivocated{snapshot_id(serial), Hash256{static_cast<std::uint8_t>(below(9))}, ""};
      default:
        return TimestampSeen{snapshot_id(serial), instant(), UtcSeconds(5000), "{}"};
    }
  }

 private:
  std::uint64_t below(std::uint64_t end) {
    return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_);
  }
  UtcSeconds instant() { return UtcSeconds(static_cast<std::int64_t>(below(1000))); }
  ledger::AuthorityAdopted adopted(std::uint64_t serial) {
    ledger::AuthorityAdopted out = adopted_event(serial);
    out.issued = instant();
    if (below(3) != 0) out.previous = ledger::Earlier{snapshot_id(below(4) + 1), sample_root()};
    if (below(2) == 0) out.unconfirmed_until = instant();
    out.recovered = below(6) == 0;
    return out;
  }

  std::mt19937 random_;
};

// All parts of a state in one comparable text.
inline std::string text_of(const ledger::AuthorityState& state) {
  using namespace ledger;
  wire::Json json = wire::Json::object();
  if (state.adopted) {
    AuthorityAdopted adopted;
    adopted.id = {state.adopted->serial, state.adopted->hash};
    adopted.root = state.adopted->root;
    adopted.previous = state.previous;
    adopted.unconfirmed_until = state.unconfirmed_until;
    json.set("adopted", draft_of(adopted).body);
    json.set("adopted_floors", draft_of(AuthorityFloors{state.adopted->floors, {}}).body);
  }
  json.set("reverted", state.reverted);
  json.set("active", state.active);
  json.set("generation", wire::Json::decimal(state.generation.value));
  json.set("floors", draft_of(AuthorityFloors{state.floors, state.fences}).body);
  if (state.timestamp) json.set("timestamp", draft_of(*state.timestamp).body);
  if (state.conflict) json.set("conflict", draft_of(*state.conflict).body);
  json.set("clock_floor", state.clock_floor.value);
  return wire::encode_canonical(json);
}

}  // namespace postern::testing
