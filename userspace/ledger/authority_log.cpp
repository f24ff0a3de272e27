// SPDX-License-Identifier: Apache-2.0
#include "ledger/authority_log.h"

#include <algorithm>

namespace postern::ledger {
namespace {

// A resource's id takes 63 bytes at most: an event of so many stays well below the limit of a record.
constexpr std::size_t kMostRises = 256;

bool is_adopted(const AuthorityState& state, const SnapshotId& id) {
  return state.adopted && state.adopted->serial == id.serial && state.adopted->hash == id.hash;
}

template <class Key>
void raise(std::map<Key, Epoch>& floors, const std::map<Key, Epoch>& to) {
  for (const auto& [key, epoch] : to) {
    Epoch& floor = floors[key];
    floor = std::max(floor, epoch);
  }
}

void add(AuthorityState& state, const AuthorityFloors& event) {
  raise(state.floors, event.floors);
  raise(state.fences, event.fences);
  if (state.adopted) state.adopted->floors = state.floors;
}

void add(AuthorityState& state, const AuthorityAdopted& event) {
  state.adopted = authority::Adopted{event.id.serial, event.id.hash, event.root, state.floors};
  state.previous = event.previous;
  state.unconfirmed_until = event.unconfirmed_until;
  state.reverted = false;
  state.active = false;
  if (event.recovered) {
    state.conflict.reset();
    state.timestamp.reset();
    state.clock_floor = UtcSeconds();
  }
  state.clock_floor = std::max(state.clock_floor, event.issued);
}

void add(AuthorityState& state, const AuthorityActive& event) {
  state.generation = std::max(state.generation, event.generation);
  if (to_serve(state) == event.id) state.active = true;
}

void add(AuthorityState& state, const AuthorityConfirmed& event) {
  if (is_adopted(state, event.id)) state.unconfirmed_until.reset();
}

void add(AuthorityState& state, const AuthorityReverted& event) {
  if (!is_adopted(state, event.id) || !state.previous || state.reverted) return;
  state.unconfirmed_until.reset();
  state.reverted = true;
  state.active = false;
}

void add(AuthorityState& state, const AuthorityEquivocated& event) {
  if (!state.conflict) state.conflict = event;
}

void add(AuthorityState& state, const TimestampSeen& event) {
  state.timestamp = event;
  state.clock_floor = std::max(state.clock_floor, event.issued);
}

template <class Key>
void collect_rises(const std::map<Key, Epoch>& known, const std::map<Key, Epoch>& raised,
                   std::map<Key, Epoch> AuthorityFloors::*where, std::vector<AuthorityFloors>& out) {
  for (const auto& [key, epoch] : raised) {
    const auto found = known.find(key);
    if (epoch <= (found == known.end() ? Epoch() : found->second)) continue;
    if (out.empty() || out.back().floors.size() + out.back().fences.size() == kMostRises) out.emplace_back();
    (out.back().*where)[key] = epoch;
  }
}

}  // namespace

std::optional<SnapshotId> to_serve(const AuthorityState& state) {
  if (!state.adopted) return std::nullopt;
  if (state.reverted && state.previous) return state.previous->id;
  return SnapshotId{state.adopted->serial, state.adopted->hash};
}

void fold(AuthorityState& state, const AuthorityEvent& event) {
  std::visit([&state](const auto& body) { add(state, body); }, event);
}

Result<> apply_event(AuthorityState& state, const Event& event) {
  Result<std::optional<AuthorityEvent>> read = read_authority_event(event);
  if (!read) return pass_on(std::move(read));
  if (*read) fold(state, **read);
  return {};
}

std::vector<AuthorityFloors> rises(const AuthorityState& state, const AuthorityFloors& raised) {
  std::vector<AuthorityFloors> out;
  collect_rises(state.floors, raised.floors, &AuthorityFloors::floors, out);
  collect_rises(state.fences, raised.fences, &AuthorityFloors::fences, out);
  return out;
}

std::string snapshot_file_name(const SnapshotId& id) {
  return "auth-" + std::to_string(id.serial.value) + "-" + to_hex(id.hash);
}

}  // namespace postern::ledger
