// SPDX-License-Identifier: Apache-2.0
#include "ledger/own_lineage.h"

namespace postern::ledger {

bool opens_after(const Event& opening, const Id128& stream) {
  const wire::Json* const predecessor = opening.body.find("predecessor");
  const std::string* const named = predecessor != nullptr ? predecessor->as_string() : nullptr;
  return named != nullptr && *named == to_hex(stream);
}

// A stream that is opened names the one that it is opened for. What the peers give back was opened for
// another one than the stream that the journal was at then.
bool OwnLineage::succeeds(const Event& opening) const {
  return !current_ || opens_after(opening, *current_);
}

OwnLineage::Origin OwnLineage::take(const Event& event, bool from_base) {
  if (!key_ || event.key != *key_) return Origin::fetched;
  if (current_ == event.stream) return Origin::written;
  if (others_.count(event.stream) != 0) return Origin::fetched;
  if (event.seq == Seq(1) && !succeeds(event)) {
    others_.insert(event.stream);
    return Origin::fetched;
  }
  const Origin origin = event.seq == Seq(1) ? Origin::opened : Origin::found;
  // Whoever reads a journal refuses a stream that lacks its beginning, unless a base stands for it.
  if (origin == Origin::found && current_ && !from_base) return origin;
  if (current_) others_.insert(*current_);
  current_ = event.stream;
  return origin;
}

}  // namespace postern::ledger
