// SPDX-License-Identifier: Apache-2.0
// The state is made of parts, and each part has an event that made it what it is: the last AuthorityAdopted,
// what followed it, the last that raised a floor to its height, the first proof of a conflict, and so on.
// These are kept. The last recovery is kept as well: it wiped parts that older, kept events would bring back.
#include "ledger/authority_retention.h"

namespace postern::ledger {

Result<> AuthorityRetention::see(Lseq at, const Event& event) {
  Result<std::optional<AuthorityEvent>> read = read_authority_event(event);
  if (!read) return pass_on(std::move(read));
  if (!*read) return {};
  std::visit([this, at](const auto& body) { note(at, body); }, **read);
  fold(state_, **read);
  return {};
}

std::set<Lseq> AuthorityRetention::needed() const {
  std::set<Lseq> needed;
  for (const auto* part :
       {&recovered_, &adopted_, &settled_, &active_, &generation_, &timestamp_, &conflict_, &clock_floor_}) {
    if (*part) needed.insert(**part);
  }
  for (const auto& [resource, highest] : floors_)
    needed.insert(highest.at);
  for (const auto& [number, highest] : fences_)
    needed.insert(highest.at);
  return needed;
}

template <class Key>
void AuthorityRetention::note_rises(std::map<Key, Highest>& highest, const std::map<Key, Epoch>& epochs,
                                    Lseq at) {
  for (const auto& [key, epoch] : epochs) {
    const auto found = highest.find(key);
    if (found == highest.end() || epoch > found->second.epoch) highest[key] = {epoch, at};
  }
}

void AuthorityRetention::note(Lseq at, const AuthorityFloors& event) {
  note_rises(floors_, event.floors, at);
  note_rises(fences_, event.fences, at);
}

void AuthorityRetention::note(Lseq at, const AuthorityAdopted& event) {
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

void AuthorityRetention::note(Lseq at, const AuthorityActive& event) {
  if (event.generation > state_.generation) generation_ = at;
  if (!state_.active && to_serve(state_) == event.id) active_ = at;
}

void AuthorityRetention::note(Lseq at, const AuthorityConfirmed& event) {
  if (state_.unconfirmed_until && names_adopted(event.id)) settled_ = at;
}

void AuthorityRetention::note(Lseq at, const AuthorityReverted& event) {
  if (state_.reverted || !state_.previous || !names_adopted(event.id)) return;
  settled_ = at;
  active_.reset();
}

void AuthorityRetention::note(Lseq at, const AuthorityEquivocated&) {
  if (!state_.conflict) conflict_ = at;
}

void AuthorityRetention::note(Lseq at, const TimestampSeen& event) {
  timestamp_ = at;
  if (event.issued > state_.clock_floor) clock_floor_ = at;
}

bool AuthorityRetention::names_adopted(const SnapshotId& id) const {
  return state_.adopted && SnapshotId{state_.adopted->serial, state_.adopted->hash} == id;
}

}  // namespace postern::ledger
