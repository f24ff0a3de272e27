// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "agent/outlet.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/journal.h"
#include "wire/json.h"

namespace postern::agent {

// Those who wait for events (SPEC 5.6). They are told how far the journal is durable, never what stands in
// it: each then asks for pages at its own pace. So a slow one costs a line and loses nothing.
class EventFollowers {
 public:
  // `journal` must outlive this.
  explicit EventFollowers(const ledger::Journal& journal) : journal_(&journal) {}

  // Answers `events-follow`: from now on `outlet` gets a line whenever more is durable, the first at once.
  Result<wire::Json> add(const std::weak_ptr<Outlet>& outlet);
  // Tells those who were not told so far. After events became durable, and each second for whom there was no
  // room.
  void tell();

 private:
  struct Follower {
    std::weak_ptr<Outlet> outlet;
    std::optional<Lseq> told;
  };

  const ledger::Journal* journal_;
  std::vector<Follower> followers_;
};

}  // namespace postern::agent
