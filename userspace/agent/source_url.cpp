// SPDX-License-Identifier: Apache-2.0
#include "agent/source_url.h"

#include <algorithm>
#include <asio/post.hpp>
#include <chrono>
#include <random>

#include "authority/bundle.h"

namespace postern::agent {
namespace {

constexpr unsigned kLongestBackoff = 5;  // 2^5 periods

}  // namespace

double pause_seconds(unsigned period_s, unsigned failures_in_a_row, double dice) {
  const double periods = static_cast<double>(1U << std::min(failures_in_a_row, kLongestBackoff));
  return period_s * periods * (0.9 + 0.2 * dice);
}

SourceUrl::SourceUrl(asio::io_context& io, const config::Source& source, SourceDoor door)
    : SnapshotSource("url " + source.url, std::move(door)),
      io_(&io),
      request_{source.url, {}, source.ca, static_cast<long>(source.timeout_s), authority::kMaxBundleBytes},
      period_s_(source.poll_s),
      self_(std::make_shared<SourceUrl*>(this)),
      poller_([this] { poll(); }) {}

SourceUrl::~SourceUrl() {
  *self_ = nullptr;
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
    {
      const std::lock_guard lock(mutex_);
      request = request_;
      answered_ = false;
    }
    auto reply = std::make_shared<Result<HttpsReply>>(fetch_https(request, cancelled_));
    if (cancelled_) return;
    asio::post(*io_, [self = self_, reply] {
      if (*self != nullptr) (*self)->arrived(std::move(*reply));
    });
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

void SourceUrl::arrived(Result<HttpsReply> reply) {
  bool good = reply.has_value();
  if (!good) {
    failed(reply.error());
  } else if (reply->unchanged) {
    unchanged();
    all_is_well();
  } else {
    good = offer(reply->body, request_.url).has_value();
  }
  const std::lock_guard lock(mutex_);
  if (good && !reply->unchanged) request_.etag = std::move(reply->etag);
  failures_in_a_row_ = good ? 0 : failures_in_a_row_ + 1;
  answered_ = true;
  wake_.notify_all();
}

}  // namespace postern::agent
