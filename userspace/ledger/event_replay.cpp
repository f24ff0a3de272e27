// SPDX-License-Identifier: Apache-2.0
#include "ledger/event_replay.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

namespace postern::ledger {
namespace {

// Enough to keep the cores busy, little enough to hold in memory.
constexpr std::size_t kMaxHeldEvents = 4096;
constexpr std::size_t kMaxHeldBytes = std::size_t{16} << 20;
constexpr std::size_t kEventsAtOnce = 16;  // that a thread takes; starting one for fewer is not worth it

Result<Event> check(const Record& record) {
  Result<Event> event = record.from_base ? read_event(record.payload) : open_event(record.payload);
  if (!event) return pass_on(std::move(event), "journal record " + std::to_string(record.lseq.value));
  return event;
}

// Threads take turns at the next few records until none is left.
std::vector<std::optional<Result<Event>>> check_all(const std::vector<Record>& records, unsigned threads) {
  std::vector<std::optional<Result<Event>>> events(records.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    while (true) {
      const std::size_t first = next.fetch_add(kEventsAtOnce);
      if (first >= records.size()) return;
      const std::size_t last = std::min(first + kEventsAtOnce, records.size());
      for (std::size_t i = first; i < last; ++i)
        events[i].emplace(check(records[i]));
    }
  };
  const std::size_t useful = (records.size() + kEventsAtOnce - 1) / kEventsAtOnce;
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < std::min<std::size_t>(threads, useful); ++i)
    helpers.emplace_back(work);
  work();
  helpers.clear();  // joins
  return events;
}

}  // namespace

EventReplay::EventReplay(Sink sink, unsigned threads)
    : sink_(std::move(sink)),
      threads_(threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency())) {}

Result<> EventReplay::add(const Record& record) {
  held_.push_back(record);
  held_bytes_ += record.payload.size();
  if (held_.size() < kMaxHeldEvents && held_bytes_ < kMaxHeldBytes) return {};
  return flush();
}

Result<> EventReplay::finish() {
  return flush();
}

Result<> EventReplay::flush() {
  const std::vector<Record> records = std::exchange(held_, {});
  held_bytes_ = 0;
  std::vector<std::optional<Result<Event>>> events = check_all(records, threads_);
  for (std::size_t i = 0; i < records.size(); ++i) {
    Result<Event>& event = *events[i];
    if (!event) return pass_on(std::move(event));
    if (Result<> taken = sink_(records[i], std::move(*event)); !taken) return taken;
  }
  return {};
}

}  // namespace postern::ledger
