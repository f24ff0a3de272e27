// SPDX-License-Identifier: Apache-2.0
// What a durable record costs: the journal against the floor of the disk, SQLite, RocksDB and LMDB, with 1, 8
// and 64 writers, and what a start costs. All stores are measured in short turns, round after round, so that
// whatever else the disk and the machine do strikes them alike; figures are of all rounds together.
//
//   bench-journal [DIRECTORY]     on the file system of DIRECTORY (build/ by default), which is filled and
//   emptied
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "stores.h"

namespace postern::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kWriters[] = {1, 8, 64};
constexpr int kRounds = 12;
constexpr std::chrono::milliseconds kTurn{250};
constexpr std::size_t kEvents[] = {10'000, 100'000, 1'000'000};
constexpr int kStarts = 5;
constexpr std::size_t kRecordBytes = 200;

struct Tally {
  std::vector<double> latencies_us;
  double seconds = 0;

  double rate() const { return static_cast<double>(latencies_us.size()) / seconds; }
  double at(double share) {
    if (latencies_us.empty()) return 0;
    auto nth = latencies_us.begin() +
               static_cast<std::ptrdiff_t>(share * static_cast<double>(latencies_us.size() - 1));
    std::nth_element(latencies_us.begin(), nth, latencies_us.end());
    return *nth;
  }
};

std::string record_of(unsigned writer) {
  std::string record = "{\"w\":" + std::to_string(writer) + ",\"p\":\"";
  record.append(kRecordBytes - record.size() - 2, 'p');
  return record + "\"}";
}

void take_turn(Store& store, unsigned writers, Tally& tally) {
  std::vector<std::vector<double>> own(writers);
  const Clock::time_point began = Clock::now();
  const auto write = [&](unsigned writer) {
    const std::string record = record_of(writer);
    Clock::time_point before = Clock::now();
    while (before - began < kTurn) {
      store.put(record);
      const Clock::time_point after = Clock::now();
      own[writer].push_back(std::chrono::duration<double, std::micro>(after - before).count());
      before = after;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned writer = 1; writer < writers; ++writer)
    threads.emplace_back(write, writer);
  write(0);
  for (std::thread& thread : threads)
    thread.join();
  tally.seconds += std::chrono::duration<double>(Clock::now() - began).count();
  for (const std::vector<double>& latencies : own)
    tally.latencies_us.insert(tally.latencies_us.end(), latencies.begin(), latencies.end());
}

std::string json_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string measure_writes(const std::filesystem::path& directory) {
  const std::vector<StoreKind>& kinds = store_kinds();
  std::vector<std::unique_ptr<Store>> stores;
  for (const StoreKind& kind : kinds)
    stores.push_back(kind.open(directory));
  std::string json;
  for (const unsigned writers : kWriters) {
    std::vector<Tally> tallies(kinds.size());
    for (int round = 0; round < kRounds; ++round)
      for (std::size_t i = 0; i < kinds.size(); ++i)
        take_turn(*stores[(i + static_cast<std::size_t>(round)) % kinds.size()], writers,
                  tallies[(i + static_cast<std::size_t>(round)) % kinds.size()]);
    std::printf("\n%2u writer%s %-15s %9s %9s %10s %11s %11s\n", writers, writers == 1 ? " " : "s", "",
                "p50 us", "p99 us", "records/s", "p50/floor", "rate/floor");
    const double floor_us = tallies[0].at(0.5);
    const double floor_rate = tallies[0].rate();
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      Tally& t = tallies[i];
      std::printf("          %-15s %9.0f %9.0f %10.0f %11.2f %11.2f\n", kinds[i].name, t.at(0.5), t.at(0.99),
                  t.rate(), t.at(0.5) / floor_us, t.rate() / floor_rate);
      json += std::string(json.empty() ? "" : ",") + "{\"store\":\"" + kinds[i].name + "\",\"method\":\"" +
              kinds[i].method + "\",\"writers\":" + std::to_string(writers) +
              ",\"p50_us\":" + json_number(t.at(0.5)) + ",\"p99_us\":" + json_number(t.at(0.99)) +
              ",\"records_per_second\":" + json_number(t.rate()) + "}";
    }
    std::fflush(stdout);
  }
  return json;
}

void forget_cached(const std::filesystem::path& directory) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    (void)::fsync(fd);
    (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)::close(fd);
  }
}

void fill(Store& store, std::size_t events) {
  const std::vector<std::string> batch(1000, record_of(0));
  for (std::size_t put = 0; put < events; put += batch.size())
    store.put_all(batch);
}

std::string measure_starts(const std::filesystem::path& directory) {
  std::string json;
  std::printf("\nstart, page cache dropped, median of %d\n%10s %-16s %10s\n", kStarts, "events", "", "ms");
  for (const std::size_t events : kEvents) {
    const std::filesystem::path place = directory / std::to_string(events);
    std::filesystem::create_directories(place);
    std::vector<std::vector<double>> took(store_kinds().size());
    for (const StoreKind& kind : store_kinds())
      if (kind.start) fill(*kind.open(place), events);
    for (int i = 0; i < kStarts; ++i) {
      for (std::size_t k = 0; k < store_kinds().size(); ++k) {
        if (!store_kinds()[k].start) continue;
        forget_cached(place);
        const Clock::time_point began = Clock::now();
        if (store_kinds()[k].start(place) < events)
          std::exit(std::fprintf(stderr, "%s lost events\n", store_kinds()[k].name));
        took[k].push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
      }
    }
    for (std::size_t k = 0; k < took.size(); ++k) {
      if (took[k].empty()) continue;
      std::sort(took[k].begin(), took[k].end());
      const double median = took[k][took[k].size() / 2];
      std::printf("%10zu %-16s %10.1f\n", events, store_kinds()[k].name, median);
      json += std::string(json.empty() ? "" : ",") + "{\"store\":\"" + store_kinds()[k].name +
              "\",\"events\":" + std::to_string(events) + ",\"start_ms\":" + json_number(median) + "}";
    }
    std::filesystem::remove_all(place);
    std::fflush(stdout);
  }
  return json;
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

int run(const std::filesystem::path& parent) {
  std::string pattern = (parent / "bench-journal-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return std::perror(pattern.c_str()), 1;
  utsname machine{};
  ::uname(&machine);
  const std::string method = std::to_string(kRounds) + " rounds of " + std::to_string(kTurn.count()) +
                             " ms a store in turn, records of " + std::to_string(kRecordBytes) + " bytes";
  std::printf("journal: %s %s, %s, %u processors; %s\n", machine.sysname, machine.release,
              processor().c_str(), std::thread::hardware_concurrency(), method.c_str());
  const std::string writes = measure_writes(pattern);
  std::filesystem::remove_all(pattern);
  std::filesystem::create_directories(pattern);
  const std::string starts = measure_starts(pattern);
  std::filesystem::remove_all(pattern);
  std::FILE* file = std::fopen("build/bench-journal.json", "w");
  if (file == nullptr) return 1;
  std::fprintf(file,
               "{\"schema\":1,\"kernel\":\"%s\",\"processor\":\"%s\",\"processors\":%u,\"method\":\"%s\","
               "\"writes\":[%s],\"starts\":[%s]}\n",
               machine.release, processor().c_str(), std::thread::hardware_concurrency(), method.c_str(),
               writes.c_str(), starts.c_str());
  return std::fclose(file);
}

}  // namespace
}  // namespace postern::bench

int main(int argc, char** argv) {
  return postern::bench::run(argc > 1 ? argv[1] : "build");
}
