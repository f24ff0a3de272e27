// SPDX-License-Identifier: Apache-2.0
#include "sync/early_events.h"

#include "sync/limits.h"

namespace postern::sync {

bool EarlyEvents::holds_before(const ledger::Event& event) const {
  const auto line = lines_.find(event.stream);
  return line != lines_.end() && line->second.back().event.seq.next() == event.seq;
}

bool EarlyEvents::hold(ledger::VerifiedEvent event) {
  const auto line = lines_.find(event.event.stream);
  if (line != lines_.end() && event.event.seq <= line->second.back().event.seq) return true;
  std::size_t& of_author = bytes_by_author_[event.event.key];
  const std::size_t size = event.sealed.size();
  if (bytes_ + size > kMaxEarlyBytes || of_author + size > kMaxEarlyBytesAnAuthor) {
    if (of_author == 0) bytes_by_author_.erase(event.event.key);
    return false;
  }
  bytes_ += size;
  of_author += size;
  lines_[event.event.stream].push_back(std::move(event));
  return true;
}

void EarlyEvents::release(const ledger::VerifiedEvent& event) {
  bytes_ -= event.sealed.size();
  std::size_t& of_author = bytes_by_author_[event.event.key];
  of_author -= event.sealed.size();
  if (of_author == 0) bytes_by_author_.erase(event.event.key);
}

void EarlyEvents::retry(const std::function<ledger::Offer(ledger::VerifiedEvent)>& offer) {
  for (auto at = lines_.begin(); at != lines_.end();) {
    Line& line = at->second;
    while (!line.empty() && offer(line.front()) != ledger::Offer::early) {
      release(line.front());
      line.pop_front();
    }
    at = line.empty() ? lines_.erase(at) : std::next(at);
  }
}

}  // namespace postern::sync
