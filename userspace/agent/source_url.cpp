// SPDX-License-Identifier: Apache-2.0
#include "agent/source_url.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "authority/bundle.h"
#include "authority/timestamp.h"

namespace postern::agent {
namespace {

constexpr unsigned kLongestBackoff = 5;  // 2^5 periods

}  // namespace

double pause_seconds(unsigned period_s, unsigned failures_in_a_row, double dice) {
  const double periods = static_cast<double>(1U << std::min(failures_in_a_row, kLongestBackoff));
  return period_s * periods * (0.9 + 0.2 * dice);
}

SourceUrl::SourceUrl(const config::Source& source, SourceDoor door)
    : SnapshotSource("url " + source.url, std::move(door)),
      request_{source.url, {}, source.ca, static_cast<long>(source.timeout_s), authority::kMaxBundleBytes},
      timestamp_request_{timestamp_url_of(source.url),  {},  source.ca, static_cast<long>(source.timeout_s),
                         authority::kMaxTimestampBytes, true},
      period_s_(source.poll_s),
      poller_([this] { poll(); }) {}

SourceUrl::~SourceUrl() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
  }
  wake_.notify_all();
  poller_.join();
}

void SourceUrl::poll() {
  do {
    HttpsRequest request;
    HttpsRequest timestamp_request;
    {
      const std::lock_guard lock(mutex_);
      request = request_;
      timestamp_request = timestamp_request_;
      answered_ = false;
    }
    auto round = std::make_shared<Round>();
    round->snapshot = fetch_https(request, cancelled_);
    if (!cancelled_) round->timestamp = fetch_https(timestamp_request, cancelled_);
    if (cancelled_) return;
    order([this, round] { arrived(std::move(*round)); });
  } while (pause());
}

// False when it is time to end.
bool SourceUrl::pause() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return answered_ || cancelled_; });
  std::random_device random;
  const double dice = std::uniform_real_distribution<double>(0, 1)(random);
  const std::chrono::duration<double> pause(pause_seconds(period_s_, failures_in_a_row_, dice));
  wake_.wait_for(lock, pause, [this] { return cancelled_.load(); });
  return !cancelled_;
}

bool SourceUrl::judge(Kind kind, Result<HttpsReply>& reply, const std::string& url, std::string& etag) {
  if (!reply) {
    failed(kind, reply.error());
    return false;
  }
  if (reply->unchanged || reply->missing) {
    unchanged(kind);
    all_is_well(kind);
    return true;
  }
  // A refused snapshot is asked for ever more rarely; a timestamp that was refused is only tried again when
  // due.
  if (kind == Kind::timestamp && is_old_news(kind, reply->body)) return false;
  const bool taken = offer(kind, reply->body, url).has_value();
  if (taken) etag = std::move(reply->etag);
  return taken;
}

// How long to wait follows from the snapshot alone: a timestamp that is refused must not hold snapshots up.
void SourceUrl::arrived(Round round) {
  std::string etag = request_.etag;
  std::string timestamp_etag = timestamp_request_.etag;
  const bool good = judge(Kind::snapshot, round.snapshot, request_.url, etag);
  if (door().adopted() != Serial())
    judge(Kind::timestamp, round.timestamp, timestamp_request_.url, timestamp_etag);
  const std::lock_guard lock(mutex_);
  request_.etag = std::move(etag);
  timestamp_request_.etag = std::move(timestamp_etag);
  failures_in_a_row_ = good ? 0 : failures_in_a_row_ + 1;
  answered_ = true;
  wake_.notify_all();
}

}  // namespace postern::agent
