// SPDX-License-Identifier: Apache-2.0
// Events whose lamport is too far ahead of everything known, and those behind them (SPEC 9.3): they wait
// until the clock has come closer. A bounded number of bytes of each author and of all; what does not fit is
// sent again by whoever has it.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "ledger/replica.h"

namespace postern::sync {

class EarlyEvents {
 public:
  // Whether the event follows on those that are held of its stream.
  bool holds_before(const ledger::Event& event) const;
  // False: there is no room for it.
  bool hold(ledger::VerifiedEvent event);
  // Offers each stream's events in order, as long as they are taken, and forgets those that another way
  // brought, or that turned out to be of no use.
  void retry(const std::function<ledger::Offer(ledger::VerifiedEvent)>& offer);
  std::size_t bytes() const { return bytes_; }

 private:
  using Line = std::deque<ledger::VerifiedEvent>;
  void release(const ledger::VerifiedEvent& event);

  std::map<Id128, Line> lines_;
  std::map<wire::PublicKey, std::size_t> bytes_by_author_;
  std::size_t bytes_ = 0;
};

}  // namespace postern::sync
