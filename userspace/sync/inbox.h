// SPDX-License-Identifier: Apache-2.0
// Events that came from one peer and are not dealt with yet, and the credit that bounds them (SPEC 9.3).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "sync/message.h"
#include "sync/verifier.h"

namespace postern::sync {

class Inbox {
 public:
  explicit Inbox(std::uint32_t session) : session_(session) {}

  std::uint32_t session() const { return session_; }
  // False: more than it has credit for.
  bool admit(std::size_t bytes);
  // What was admitted as `bytes` waits to be verified.
  void add(VerifyJob job, std::size_t bytes) { waiting_.push_back({std::move(job), bytes}); }
  // What was admitted is dealt with.
  void done(std::size_t bytes) { done_bytes_ += bytes; }

  // The next job, if none is out.
  std::optional<VerifyJob> next_job();
  // It came back; its events wait to be offered.
  void verified(std::vector<ledger::VerifiedEvent> events);
  // The next event to offer. What came with it in one message is dealt with when the last one is taken.
  std::optional<ledger::VerifiedEvent> next_event();

  // What to tell the peer when its credit should be more by half a window, or at once.
  std::optional<Credit> raise(std::uint64_t window_bytes, bool at_once);
  std::uint64_t waiting_bytes() const { return received_bytes_ - done_bytes_; }

 private:
  struct Batch {
    VerifyJob job;
    std::size_t bytes = 0;
  };

  std::uint32_t session_;
  std::uint64_t received_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t granted_bytes_ = 0;
  std::deque<Batch> waiting_;
  std::deque<ledger::VerifiedEvent> ready_;
  std::size_t out_bytes_ = 0;  // of the job that is out, or whose events are ready
  bool out_ = false;
};

}  // namespace postern::sync
