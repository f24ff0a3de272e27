// SPDX-License-Identifier: Apache-2.0
// The state is made of parts, and each part has an event that made it what it is: the last AuthorityAdopted,
// what followed it, the last that raised a floor to its height, the first proof of a conflict, and so on.
// These are kept. The last recovery is kept as well: it wiped parts that older, kept events would bring back.
#include "ledger/authority_retention.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace postern::ledger {
namespace {

using Index = std::size_t;

struct Highest {
  Epoch epoch;
  Index at = 0;
};

// Walks over the events once and remembers, for each part of the state, which event it is owed to.
class Owed {
 public:
  void see(Index at, const AuthorityEvent& event) {
    std::visit([this, at](const auto& body) { note(at, body); }, event);
    fold(state_, event);
  }

  std::vector<bool> flags(std::size_t count) const {
    std::vector<bool> needed(count, false);
    for (const auto* part : {&recovered_, &adopted_, &settled_, &active_, &generation_, &timestamp_,
                             &conflict_, &clock_floor_}) {
      if (*part) needed[**part] = true;
    }
    for (const auto& [resource, highest] : floors_)
      needed[highest.at] = true;
    for (const auto& [number, highest] : fences_)
      needed[highest.at] = true;
    return needed;
  }

 private:
  template <class Key>
  static void note_rises(std::map<Key, Highest>& highest, const std::map<Key, Epoch>& epochs, Index at) {
    for (const auto& [key, epoch] : epochs) {
      const auto found = highest.find(key);
      if (found == highest.end() || epoch > found->second.epoch) highest[key] = {epoch, at};
    }
  }

  void note(Index at, const AuthorityFloors& event) {
    note_rises(floors_, event.floors, at);
    note_rises(fences_, event.fences, at);
  }

  void note(Index at, const AuthorityAdopted& event) {
    adopted_ = at;
    settled_.reset();
    active_.reset();
    if (event.recovered) {
      recovered_ = at;
      timestamp_.reset();
      conflict_.reset();
      clock_floor_.reset();
    } else if (event.issued > state_.clock_floor) {
      clock_floor_ = at;
    }
  }

  void note(Index at, const AuthorityActive& event) {
    if (event.generation > state_.generation) generation_ = at;
    if (!state_.active && to_serve(state_) == event.id) active_ = at;
  }

  void note(Index at, const AuthorityConfirmed& event) {
    if (state_.unconfirmed_until && names_adopted(event.id)) settled_ = at;
  }

  void note(Index at, const AuthorityReverted& event) {
    if (state_.reverted || !state_.previous || !names_adopted(event.id)) return;
    settled_ = at;
    active_.reset();
  }

  void note(Index at, const AuthorityEquivocated&) {
    if (!state_.conflict) conflict_ = at;
  }

  void note(Index at, const TimestampSeen& event) {
    timestamp_ = at;
    if (event.issued > state_.clock_floor) clock_floor_ = at;
  }

  bool names_adopted(const SnapshotId& id) const {
    return state_.adopted && SnapshotId{state_.adopted->serial, state_.adopted->hash} == id;
  }

  AuthorityState state_;
  std::optional<Index> recovered_, adopted_, settled_, active_, generation_, timestamp_, conflict_,
      clock_floor_;
  std::map<std::string, Highest> floors_;
  std::map<ResourceNumber, Highest> fences_;
};

}  // namespace

Result<std::vector<bool>> authority_events_needed(std::span<const Event> events) {
  Owed owed;
  for (Index at = 0; at < events.size(); ++at) {
    Result<std::optional<AuthorityEvent>> read = read_authority_event(events[at]);
    if (!read) return pass_on(std::move(read));
    if (*read) owed.see(at, **read);
  }
  return owed.flags(events.size());
}

}  // namespace postern::ledger
