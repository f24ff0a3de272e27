// SPDX-License-Identifier: Apache-2.0
// What sync costs (SPEC 9): a replica that lacks 100,000 events gets them from another one, both with
// journals on a disk, over a link in memory whose bytes are counted as sealed; and what 8,192 streams cost
// that nothing happens in. Times are divided by a baseline of the same run, the same events' signatures
// checked on all cores and nothing else; bytes by the events' own.
#include <sys/utsname.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cpu_time.h"
#include "ledger/event_kinds.h"
#include "ledger/replica.h"
#include "ledger/stream_history.h"
#include "mesh/limits.h"
#include "sync/sync.h"
#include "sync/verify_pool.h"

namespace postern {
namespace {

using namespace ledger;
using bench::cpu_seconds;
using std::chrono::steady_clock;

constexpr std::size_t kEvents = 100'000;
constexpr std::size_t kStreams = 64;
constexpr std::size_t kIdleStreams = kMaxStreams - 2;  // beside the two replicas' own
constexpr std::size_t kIdleTicks = 600;
constexpr std::uint64_t kTick_ns = 100 * mesh::kMillisecond_ns;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "sync: %s\n", why.c_str());
  std::exit(1);
}

double seconds_since(steady_clock::time_point began) {
  return std::chrono::duration<double>(steady_clock::now() - began).count();
}

// Streams of eight a node, `events` in all, in turns.
std::vector<VerifiedEvent> make_events(std::size_t streams, std::size_t events) {
  std::vector<wire::SecretKey> keys;
  for (std::size_t i = 0; i * kMaxStreamsANode < streams; ++i)
    keys.push_back(wire::SecretKey::generate());
  std::vector<Event> next(streams);
  std::vector<VerifiedEvent> out;
  out.reserve(events);
  for (std::size_t i = 0; i < events; ++i) {
    const wire::SecretKey& key = keys[i % streams / kMaxStreamsANode];
    Event& event = next[i % streams];
    if (event.seq == Seq()) {
      event.mesh = "bench";
      event.key = key.public_key();
      event.stream = new_stream_id(event.key);
    }
    event.kind = event.seq == Seq() ? std::string(kStreamOpened) : "BenchEvent";
    event.body = wire::Json::object({{"text", std::string(120, 'x')}});
    event.seq = event.seq.next();
    event.lamport = event.lamport.next();
    event.at_ms = 1'780'000'000'000;
    VerifiedEvent sealed{event, seal_event(event, key), {}};
    sealed.hash = event_hash(sealed.sealed);
    event.prev = sealed.hash;
    out.push_back(std::move(sealed));
  }
  return out;
}

// The loop that a replica's threads post to.
class Loop {
 public:
  void post(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
  }
  bool run_one(std::chrono::milliseconds patience) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      if (!wake_.wait_for(lock, patience, [this] { return !tasks_.empty(); })) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
};

class Node final : public sync::Carrier {
 public:
  Node(Loop& loop, std::filesystem::path directory)
      : loop_(loop), pool([&loop](std::function<void()> task) { loop.post(std::move(task)); }) {
    JournalOptions options;
    options.directory = std::move(directory);
    options.any_file_system = true;
    options.machine = Id128{1};
    if (const Result<> made = Journal::create(options); !made) die(made.error().message());
    Result<std::unique_ptr<Journal>> journal = Journal::open(options, {});
    if (!journal) die(journal.error().message());
    journal_ = std::move(*journal);
    Result<Stream> stream = Stream::open(*journal_, key, clock_, "bench", StreamHistory(key.public_key()),
                                         {true, false, false}, replica.listener());
    if (!stream) die(stream.error().message());
    stream_.emplace(std::move(*stream));
    replica.started(*journal_, *stream_);
    replica.take_from_others([](const wire::PublicKey&) { return true; },
                             [&loop](std::function<void()> task) { loop.post(std::move(task)); });
    replica.on_durable([this](const VerifiedEvent& event, Lseq) { sync.durable(event); });
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() override {
    replica.on_durable({});
    replica.take_from_others({}, {});
  }

  void fill(const std::vector<VerifiedEvent>& events) {
    for (const VerifiedEvent& event : events) {
      while (replica.in_flight() > 2'000)
        (void)loop_.run_one(std::chrono::milliseconds(100));
      if (const Offer came_of = replica.offer(event); came_of != Offer::taken)
        die("an event is " + std::string(offer_name(came_of)));
    }
    while (replica.in_flight() > 0)
      (void)loop_.run_one(std::chrono::milliseconds(100));
  }
  Result<> send(std::string_view, ByteView message) override {
    sealed_bytes +=
        mesh::sealed_bytes(message.size()) + mesh::chunks_of(message.size()) * mesh::kFrameHeadBytes;
    loop_.post(
        [this, bytes = Bytes(message.begin(), message.end())] { other->sync.on_message(name, bytes); });
    return {};
  }
  void hold(std::string_view) override {}
  void resume(std::string_view) override {}

 private:
  Loop& loop_;
  SystemClock clock_;
  std::unique_ptr<Journal> journal_;
  std::optional<Stream> stream_;

 public:
  std::string name;
  Node* other = nullptr;
  std::uint64_t sealed_bytes = 0;
  wire::SecretKey key = wire::SecretKey::generate();
  Replica replica{"bench"};
  sync::VerifyPool pool;
  sync::Sync sync{replica, key.public_key(), *this, pool};
};

class Pair {
 public:
  Pair(Loop& loop, const std::filesystem::path& directory)
      : loop_(loop), one_(loop, directory / "one"), two_(loop, directory / "two") {
    one_.name = "one";
    two_.name = "two";
    one_.other = &two_;
    two_.other = &one_;
  }
  void link() {
    one_.sync.on_up({"two", 1, {}});
    two_.sync.on_up({"one", 1, {}});
  }
  void tick() {
    now_ns_ += kTick_ns;
    one_.sync.tick(now_ns_);
    two_.sync.tick(now_ns_);
  }
  // In real time, until both hold the same events.
  void run_until_level() {
    steady_clock::time_point next = steady_clock::now();
    while (one_.replica.fold().digest() != two_.replica.fold().digest()) {
      if (steady_clock::now() >= next) {
        next += std::chrono::milliseconds(100);
        tick();
      }
      (void)loop_.run_one(std::chrono::milliseconds(5));
      for (int i = 0; i < 500 && loop_.run_one(std::chrono::milliseconds(0)); ++i) {
      }
    }
  }
  void drain() {
    while (loop_.run_one(std::chrono::milliseconds(50))) {
    }
  }
  std::uint64_t sealed_bytes() const { return one_.sealed_bytes + two_.sealed_bytes; }
  Node& one() { return one_; }
  Node& two() { return two_; }

 private:
  Loop& loop_;
  Node one_;
  Node two_;
  std::uint64_t now_ns_ = 1'000 * mesh::kSecond_ns;
};

// The signatures of these events and nothing else, on all cores.
double baseline_seconds(const std::vector<VerifiedEvent>& events, unsigned threads) {
  const steady_clock::time_point began = steady_clock::now();
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < threads; ++i)
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < events.size(); at = next++)
        if (!open_event(events[at].sealed)) die("a signature is wrong");
    });
  workers.clear();
  return seconds_since(began);
}

struct Catch {
  double seconds = 0;
  double baseline_seconds = 0;
  double wire_bytes = 0;
  double event_bytes = 0;
};

Catch measure_missing(const std::filesystem::path& directory, unsigned threads) {
  const std::vector<VerifiedEvent> events = make_events(kStreams, kEvents);
  Catch out;
  for (const VerifiedEvent& event : events)
    out.event_bytes += static_cast<double>(event.sealed.size());
  Loop loop;
  Pair pair(loop, directory);
  pair.one().fill(events);
  out.baseline_seconds = baseline_seconds(events, threads);
  const steady_clock::time_point began = steady_clock::now();
  pair.link();
  pair.run_until_level();
  out.seconds = seconds_since(began);
  // Once more after it, since others may have worked meanwhile.
  out.baseline_seconds = (out.baseline_seconds + baseline_seconds(events, threads)) / 2;
  out.wire_bytes = static_cast<double>(pair.sealed_bytes());
  return out;
}

struct Idle {
  double tick_us = 0;
  double tick_bytes = 0;
  double link_bytes = 0;
};

Idle measure_idle(const std::filesystem::path& directory) {
  const std::vector<VerifiedEvent> events = make_events(kIdleStreams, kIdleStreams);
  Loop loop;
  Pair pair(loop, directory);
  pair.one().fill(events);
  pair.two().fill(events);
  Idle out;
  pair.link();
  pair.run_until_level();
  for (int i = 0; i < 20; ++i) {
    pair.tick();
    pair.drain();
  }
  out.link_bytes = static_cast<double>(pair.sealed_bytes());
  const double began = cpu_seconds();
  for (std::size_t i = 0; i < kIdleTicks; ++i)
    pair.tick();
  out.tick_us = (cpu_seconds() - began) / (2.0 * kIdleTicks) * 1e6;
  pair.drain();
  out.tick_bytes = (static_cast<double>(pair.sealed_bytes()) - out.link_bytes) / kIdleTicks;
  return out;
}

int run() {
  utsname machine{};
  ::uname(&machine);
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  const std::filesystem::path directory = "build/bench-sync.tmp";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory / "missing");
  std::filesystem::create_directories(directory / "idle");
  std::printf("sync: %s %s, %u cores; journals in %s\n\n", machine.sysname, machine.release, threads,
              directory.c_str());
  const Catch caught = measure_missing(directory / "missing", threads);
  std::printf("%zu missing events in %zu streams\n", kEvents, kStreams);
  std::printf("  %.2f s, %.0f events/s; their signatures alone on all cores: %.2f s; ratio %.2f\n",
              caught.seconds, kEvents / caught.seconds, caught.baseline_seconds,
              caught.seconds / caught.baseline_seconds);
  std::printf("  %.1f MB on the wire both ways, %.1f MB of events; ratio %.3f\n", caught.wire_bytes / 1e6,
              caught.event_bytes / 1e6, caught.wire_bytes / caught.event_bytes);
  const Idle idle = measure_idle(directory / "idle");
  const double marks = static_cast<double>(kMaxStreams) * static_cast<double>(sync::kMarkBytes);
  std::printf("%zu streams of which nothing is missing\n", kIdleStreams + 2);
  std::printf(
      "  %.1f us CPU and %.1f bytes a tick of 0.1 s; %.0f bytes when a link comes up (all marks: %.0f)\n",
      idle.tick_us, idle.tick_bytes, idle.link_bytes, marks);
  std::filesystem::remove_all(directory);
  std::FILE* file = std::fopen("build/bench-sync.json", "w");
  if (file == nullptr) return 1;
  std::fprintf(file,
               "{\"schema\":1,\"kernel\":\"%s\",\"cores\":%u,\"events\":%zu,\"seconds\":%.3f,\"baseline_"
               "seconds\":%.3f,"
               "\"wire_bytes\":%.0f,\"event_bytes\":%.0f,\"idle_tick_us\":%.2f,\"idle_tick_bytes\":%.1f,"
               "\"link_up_bytes\":%.0f}\n",
               machine.release, threads, kEvents, caught.seconds, caught.baseline_seconds, caught.wire_bytes,
               caught.event_bytes, idle.tick_us, idle.tick_bytes, idle.link_bytes);
  return std::fclose(file);
}

}  // namespace
}  // namespace postern

int main() {
  return postern::run();
}
