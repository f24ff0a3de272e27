// SPDX-License-Identifier: Apache-2.0
// Which events of a journal were written by it (SPEC 4.12): others' events stand there too, and so do own
// ones that a disk had lost and the peers gave back. What came back is history, told out of its order: a
// gateway remembers its authority by what it wrote itself, and goes on with the stream that it opened last.
#pragma once

#include <optional>
#include <set>

#include "ledger/event.h"

namespace postern::ledger {

// Whether a StreamOpened says that its stream goes on where `stream` ended.
bool opens_after(const Event& opening, const Id128& stream);

class OwnLineage {
 public:
  enum class Origin {
    written,  // of the stream that was the own one then
    opened,   // likewise, and it opened it
    found,    // likewise: a stream whose beginning is lost
    fetched,  // another author's, or come back from the peers
  };

  // No key: nothing is its own.
  explicit OwnLineage(std::optional<wire::PublicKey> key) : key_(key) {}

  // The journal's next event. A stream's beginning can only be lost where a base stands for it (`from_base`)
  // or nothing of the own stream was seen.
  Origin take(const Event& event, bool from_base);
  bool wrote(const Event& event, bool from_base) { return take(event, from_base) != Origin::fetched; }

 private:
  bool succeeds(const Event& opening) const;

  std::optional<wire::PublicKey> key_;
  std::optional<Id128> current_;
  std::set<Id128> others_;  // streams of the own key that are not, or not any more, the own one
};

}  // namespace postern::ledger
