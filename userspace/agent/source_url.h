// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "agent/https_fetch.h"
#include "agent/snapshot_source.h"

namespace postern::agent {

// Pause before the next poll: the period after a success, twice as long after each failure in a row up to 32
// times, and a random tenth more or less, so that a fleet does not ask at one moment. `dice` is uniform in
// 0..1.
double pause_seconds(unsigned period_s, unsigned failures_in_a_row, double dice);

// Polls a URL, and that of its timestamp, from a thread of its own, which knows nothing but how to fetch; all
// else happens in orders. The ETag of a document that was taken is sent along; one that was refused is
// fetched again, in case it is mended.
class SourceUrl final : public SnapshotSource {
 public:
  SourceUrl(const config::Source& source, SourceDoor door);
  ~SourceUrl() override;

 private:
  void poll();
  struct Round {
    Result<HttpsReply> snapshot;
    Result<HttpsReply> timestamp;
  };
  void arrived(Round round);
  // Whether it was good; then `etag` is the one to send next.
  bool judge(Kind kind, Result<HttpsReply>& reply, const std::string& url, std::string& etag);
  bool pause();

  HttpsRequest request_;  // of the snapshot; its etag is the mutex's
  HttpsRequest timestamp_request_;
  unsigned period_s_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  unsigned failures_in_a_row_ = 0;
  bool answered_ = false;  // the loop is done with the last reply
  std::thread poller_;
};

}  // namespace postern::agent
