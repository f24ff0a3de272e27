// SPDX-License-Identifier: Apache-2.0
// Crashes journals on simulated disks (SPEC 4.11).
//
//   journal-simulation --crashes N [--first-seed S] [--jobs J]
//       at least N crashes, over as many seeds as it takes
//   journal-simulation --seed S [--verbose]
//       one seed again, each call told
//   journal-simulation --flips
//       each single-bit flip of the last acknowledged batch
//
// Exit: 0 no violation; 1 a violation, printed with its seed; 2 usage; 3 no violation, but something that a
// run of this length must come by was never met.
#include <sodium.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "sim/flips.h"
#include "sim/scenario.h"

namespace {

using namespace postern::ledger;

constexpr std::size_t kCrashesOfASeed = 12;

// Salts and identifiers come from libsodium; here they follow from the seed.
thread_local sim::RandomSource thread_random(0);

std::uint32_t random_word() {
  return static_cast<std::uint32_t>(thread_random.next());
}

void random_bytes(void* into, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    static_cast<unsigned char*>(into)[i] = static_cast<unsigned char>(thread_random.next());
}

randombytes_implementation seeded_random{
    [] { return "seeded"; }, random_word, nullptr, nullptr, random_bytes, nullptr};

struct Options {
  std::uint64_t crashes = 0;
  std::uint64_t first_seed = 1;
  std::optional<std::uint64_t> seed;
  unsigned jobs = 1;
  bool verbose = false;
  bool flips = false;
};

std::optional<Options> parse(const std::vector<std::string_view>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--verbose") {
      options.verbose = true;
      continue;
    }
    if (arguments[i] == "--flips") {
      options.flips = true;
      continue;
    }
    std::uint64_t value = 0;
    if (i + 1 == arguments.size()) return std::nullopt;
    const std::string_view text = arguments[i + 1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if (arguments[i] == "--crashes")
      options.crashes = value;
    else if (arguments[i] == "--first-seed")
      options.first_seed = value;
    else if (arguments[i] == "--seed")
      options.seed = value;
    else if (arguments[i] == "--jobs" && value >= 1 && value <= 64)
      options.jobs = static_cast<unsigned>(value);
    else
      return std::nullopt;
    ++i;
  }
  const int ways = (options.seed ? 1 : 0) + (options.crashes > 0 ? 1 : 0) + (options.flips ? 1 : 0);
  if (ways != 1) return std::nullopt;
  return options;
}

struct Outcome {
  std::string violation;
  sim::Coverage coverage;
};

Outcome run_seed(std::uint64_t seed, bool verbose) {
  thread_random = sim::RandomSource(~seed);
  std::function<void(const std::string&)> observer;
  if (verbose) observer = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  sim::Scenario scenario(seed, kCrashesOfASeed, observer);
  std::string violation = scenario.run();
  return {std::move(violation), scenario.coverage()};
}

void tell(std::uint64_t seed, const std::string& violation) {
  std::printf("VIOLATION seed %llu: %s\n  again: build/journal-simulation --seed %llu --verbose\n",
              static_cast<unsigned long long>(seed), violation.c_str(),
              static_cast<unsigned long long>(seed));
}

int run_flips() {
  const sim::Flips flips = sim::flip_each_bit_of_the_last_batch();
  std::printf("journal-simulation: %llu flips", static_cast<unsigned long long>(flips.tried));
  for (const auto& [verdict, count] : flips.verdicts)
    std::printf(", %s %llu", verdict.c_str(), static_cast<unsigned long long>(count));
  std::printf("\n");
  if (!flips.violation.empty()) std::printf("VIOLATION %s\n", flips.violation.c_str());
  return flips.violation.empty() ? 0 : 1;
}

// All seeds from the first on, taken in turn by the workers, until there are enough crashes.
class Run {
 public:
  explicit Run(const Options& options) : options_(options), next_seed_(options.first_seed) {}

  int go() {
    const auto began = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < options_.jobs; ++i)
      workers.emplace_back([this] { work(); });
    for (std::thread& worker : workers)
      worker.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("journal-simulation: %llu violations; %s\n  %.1f s, segments of %zu KiB\n",
                static_cast<unsigned long long>(violations_), total_.text().c_str(), took.count(),
                kSegmentBytes >> 10);
    if (violations_ > 0) return 1;
    const std::string missing = total_.missing();
    if (missing.empty()) return 0;
    std::printf("journal-simulation: never met: %s; this proves less than it should\n", missing.c_str());
    return 3;
  }

 private:
  void work() {
    while (crashes_ < options_.crashes && violations_ < 10) {
      const std::uint64_t seed = next_seed_++;
      const Outcome outcome = run_seed(seed, false);
      crashes_ += outcome.coverage.crashes;
      const std::scoped_lock guard(mutex_);
      total_.add(outcome.coverage);
      if (outcome.violation.empty()) continue;
      ++violations_;
      tell(seed, outcome.violation);
    }
  }

  const Options& options_;
  std::atomic<std::uint64_t> next_seed_;
  std::atomic<std::uint64_t> crashes_{0};
  std::atomic<std::uint64_t> violations_{0};
  std::mutex mutex_;
  sim::Coverage total_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = parse({argv + 1, argv + argc});
  if (!options) {
    std::fprintf(stderr,
                 "usage: journal-simulation --crashes N [--first-seed S] [--jobs J] | --flips | --seed S "
                 "[--verbose]\n");
    return 2;
  }
  if (randombytes_set_implementation(&seeded_random) != 0 || sodium_init() < 0) return 2;
  if (options->flips) return run_flips();
  if (!options->seed) return Run(*options).go();
  const Outcome outcome = run_seed(*options->seed, options->verbose);
  if (outcome.violation.empty()) {
    std::printf("seed %llu: no violation; %s\n", static_cast<unsigned long long>(*options->seed),
                outcome.coverage.text().c_str());
    return 0;
  }
  tell(*options->seed, outcome.violation);
  return 1;
}
