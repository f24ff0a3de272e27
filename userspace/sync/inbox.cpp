// SPDX-License-Identifier: Apache-2.0
#include "sync/inbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace postern::sync {

bool Inbox::admit(std::size_t bytes) {
  if (received_bytes_ + bytes > granted_bytes_) return false;
  received_bytes_ += bytes;
  return true;
}

std::optional<VerifyJob> Inbox::next_job() {
  if (out_ || !ready_.empty() || waiting_.empty()) return std::nullopt;
  Batch batch = std::move(waiting_.front());
  waiting_.pop_front();
  out_ = true;
  out_bytes_ = batch.bytes;
  return std::move(batch.job);
}

void Inbox::verified(std::vector<ledger::VerifiedEvent> events) {
  out_ = false;
  ready_.assign(std::make_move_iterator(events.begin()), std::make_move_iterator(events.end()));
  if (ready_.empty()) done(std::exchange(out_bytes_, 0));
}

std::optional<ledger::VerifiedEvent> Inbox::next_event() {
  if (ready_.empty()) return std::nullopt;
  ledger::VerifiedEvent event = std::move(ready_.front());
  ready_.pop_front();
  if (ready_.empty()) done(std::exchange(out_bytes_, 0));
  return event;
}

std::optional<Credit> Inbox::raise(std::uint64_t window_bytes, bool at_once) {
  const std::uint64_t wanted = std::max(granted_bytes_, done_bytes_ + window_bytes);
  if (!at_once && wanted - granted_bytes_ < window_bytes / 2) return std::nullopt;
  granted_bytes_ = wanted;
  return Credit{session_, granted_bytes_};
}

}  // namespace postern::sync
