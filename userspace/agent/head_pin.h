// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "dataplane/journal_pin.h"
#include "dataplane/plane.h"
#include "ledger/journal.h"

namespace postern::agent {

// Keeps the journal's durable head pinned in the kernel, so that a disk that went back in time is found out.
// The journal is opened before the data path: until follow() it only listens.
class HeadPin {
 public:
  // `plane` must outlive the journal that calls after_flush(). Pins `now` at once.
  Result<> follow(const dataplane::Plane& plane, const ledger::JournalStatus& now);
  void after_flush(const ledger::JournalStatus& status);

  // Why the last head could not be pinned; "" when it was.
  std::string problem() const;

 private:
  mutable std::mutex mutex_;  // flushes happen on any thread that journals
  const dataplane::Plane* plane_ = nullptr;
  std::string problem_;
};

}  // namespace postern::agent
