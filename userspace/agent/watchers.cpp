// SPDX-License-Identifier: Apache-2.0
#include "agent/watchers.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "agent/errors.h"
#include "agent/explainer.h"
#include "agent/sample_report.h"
#include "dataplane/sample_ring.h"
#include "wire/base64.h"

namespace postern::agent {
namespace {

using wire::Json;

constexpr std::size_t kMostWatchers = 16;
// Renewed each second; a wish outlives a loop that is busy adopting, and not an agent that died.
constexpr std::uint64_t kWish_ns = 30'000'000'000;
constexpr std::int64_t kNsInMs = 1'000'000;
constexpr std::int64_t kDayStep_ns = 5 * kNsInMs;  // less is what two readings differ by

std::string line_of(const Json& json) {
  return wire::encode_canonical(json) + "\n";
}

}  // namespace

Watchers::Watchers(Gateway& gateway) : gateway_(&gateway) {
  [[maybe_unused]] const Result<> ended = wish();
}

Result<> Watchers::wish() {
  std::vector<WatchFilter> filters;
  for (const Watcher& watcher : watchers_)
    filters.push_back(watcher.filter);
  return dataplane::write_watch(*gateway_->foundation().plane,
                                widest(filters, gateway_->clock().monotonic_ns() + kWish_ns));
}

Result<wire::Json> Watchers::add(const wire::Json& arguments, const std::weak_ptr<Outlet>& outlet) {
  Result<WatchFilter> filter = read_watch_filter(arguments, names_of(*gateway_));
  if (!filter) return pass_on(std::move(filter));
  std::erase_if(watchers_, [](const Watcher& watcher) { return watcher.outlet.expired(); });
  if (watchers_.size() == kMostWatchers) {
    return fail(errc::too_many_watchers,
                std::to_string(kMostWatchers) + " watch already, which is the limit; end one of them");
  }
  if (watchers_.empty())
    if (const auto lost = dataplane::read_events_lost(*gateway_->foundation().plane)) losses_ = *lost;
  look_at_day();
  watchers_.push_back({std::move(*filter), outlet});
  if (Result<> wished = wish(); !wished) {
    watchers_.pop_back();
    return pass_on(std::move(wished));
  }
  return Json::object({{"schema", "postern/watch/v1"}});
}

void Watchers::take(const pt_sample& sample, ByteView frame) {
  Json report;
  std::string plain;
  std::string with_frame;
  for (Watcher& watcher : watchers_) {
    if (!matches(watcher.filter, sample)) continue;
    const std::shared_ptr<Outlet> outlet = watcher.outlet.lock();
    if (outlet == nullptr) continue;
    std::string& line = watcher.filter.snap_bytes != 0 ? with_frame : plain;
    if (line.empty()) {
      if (report.is_null()) {
        report = sample_report(sample, names_of(*gateway_));
        report.set("schema", "postern/sample/v1");
        report.set("time_ns", Json::decimal(sample.boot_ns + static_cast<std::uint64_t>(day_offset_ns_)));
      }
      Json whole = report;
      if (watcher.filter.snap_bytes != 0) whole.set("frame", wire::base64_encode(frame));
      line = line_of(whole);
    }
    if (outlet->offer(line)) continue;
    ++watcher.missed;
    ++lost_by_readers_;
  }
}

void Watchers::tick() {
  if (watchers_.empty()) return;
  std::erase_if(watchers_, [](const Watcher& watcher) { return watcher.outlet.expired(); });
  [[maybe_unused]] const Result<> wished = wish();  // the next second tries again
  look_at_day();
  tell_losses();
}

void Watchers::look_at_day() {
  const Clock& clock = gateway_->clock();
  const std::int64_t offset_ns = clock.wall_ms() * kNsInMs - static_cast<std::int64_t>(clock.boot_ns());
  if (std::abs(offset_ns - day_offset_ns_) > kDayStep_ns) day_offset_ns_ = offset_ns;
}

void Watchers::tell_losses() {
  const Result<dataplane::EventLossCounts> now = dataplane::read_events_lost(*gateway_->foundation().plane);
  if (!now) return;
  const std::uint64_t samples = (*now)[PT_LOST_SAMPLES] - losses_[PT_LOST_SAMPLES];
  const std::uint64_t rate = (*now)[PT_LOST_RATE] - losses_[PT_LOST_RATE];
  for (Watcher& watcher : watchers_) {
    const std::shared_ptr<Outlet> outlet = watcher.outlet.lock();
    const std::uint64_t missed = watcher.missed - watcher.missed_told;
    if (outlet == nullptr || samples + rate + missed == 0) continue;
    const bool told = outlet->offer(line_of(Json::object({{"schema", "postern/samples-lost/v1"},
                                                          {"samples", Json::decimal(samples)},
                                                          {"rate", Json::decimal(rate)},
                                                          {"reader", Json::decimal(missed)}})));
    if (told) watcher.missed_told = watcher.missed;
  }
  losses_ = *now;
}

}  // namespace postern::agent
