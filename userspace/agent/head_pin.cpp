// SPDX-License-Identifier: Apache-2.0
#include "agent/head_pin.h"

namespace postern::agent {
namespace {

dataplane::JournalPin pin_of(const ledger::JournalStatus& status) {
  return {status.journal, status.head, status.head_hash};
}

}  // namespace

Result<> HeadPin::follow(const dataplane::Plane& plane, const ledger::JournalStatus& now) {
  if (Result<> pinned = dataplane::write_journal_pin(plane, pin_of(now)); !pinned) return pinned;
  const std::lock_guard<std::mutex> lock(mutex_);
  plane_ = &plane;
  return {};
}

void HeadPin::after_flush(const ledger::JournalStatus& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (plane_ == nullptr) return;
  const Result<> pinned = dataplane::write_journal_pin(*plane_, pin_of(status));
  problem_ =
      pinned ? "" : "the journal's head could not be pinned in the kernel: " + pinned.error().message();
}

std::string HeadPin::problem() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return problem_;
}

}  // namespace postern::agent
