// SPDX-License-Identifier: Apache-2.0
// Which events of the authority a compacted journal has to keep (SPEC 5.3): as few as give the same state.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ledger/authority_log.h"
#include "ledger/retention.h"

namespace postern::ledger {

// Folding the needed ones alone, in the same order, comes to the same AuthorityState as folding all, and so
// does folding both with the same events after them. Memory: one place for each part of the state.
class AuthorityRetention final : public Retention {
 public:
  std::vector<std::string> kinds() const override { return authority_event_kinds(); }
  // Fails with errc::event_invalid on a malformed body.
  Result<> see(Lseq at, const Event& event) override;
  std::set<Lseq> needed() const override;

 private:
  struct Highest {
    Epoch epoch;
    Lseq at;
  };

  template <class Key>
  static void note_rises(std::map<Key, Highest>& highest, const std::map<Key, Epoch>& epochs, Lseq at);
  void note(Lseq at, const AuthorityFloors& event);
  void note(Lseq at, const AuthorityAdopted& event);
  void note(Lseq at, const AuthorityActive& event);
  void note(Lseq at, const AuthorityConfirmed& event);
  void note(Lseq at, const AuthorityReverted& event);
  void note(Lseq at, const AuthorityEquivocated& event);
  void note(Lseq at, const TimestampSeen& event);
  bool names_adopted(const SnapshotId& id) const;

  AuthorityState state_;
  // What each part of the state is owed to.
  std::optional<Lseq> recovered_, adopted_, settled_, active_, generation_, timestamp_, conflict_,
      clock_floor_;
  std::map<std::string, Highest> floors_;
  std::map<ResourceNumber, Highest> fences_;
};

}  // namespace postern::ledger
