// SPDX-License-Identifier: Apache-2.0
// Whole gateways in one process (SPEC 10.8).
//
//   mesh-simulation --seeds N [--first-seed S] [--jobs J]
//   mesh-simulation --seed S [--verbose]
//       one seed again, with what befell the gateways
//   mesh-simulation --seed S --shrink
//       of one seed with a violation: few of its troubles that still lead to one, and that life
//
// Exit: 0 no violation; 1 a violation, printed with its seed; 2 usage.
#include <sodium.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/mesh/life.h"

namespace {

using postern::sim::Life;

// Violations after which a process stops.
constexpr int kEnough = 5;

// Keys, salts and identifiers follow from the seed, whichever thread asks for them: journals flush on threads
// of their own, and everybody waits for them.
std::mutex random_mutex;
postern::sim::RandomSource random_source(0);

std::uint64_t next_random() {
  const std::lock_guard lock(random_mutex);
  return random_source.next();
}

std::uint32_t random_word() {
  return static_cast<std::uint32_t>(next_random());
}

void random_bytes(void* into, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    static_cast<unsigned char*>(into)[i] = static_cast<unsigned char>(next_random());
}

randombytes_implementation seeded_random{
    [] { return "seeded"; }, random_word, nullptr, nullptr, random_bytes, nullptr};

struct Options {
  std::uint64_t seeds = 0;
  std::uint64_t first_seed = 1;
  std::optional<std::uint64_t> seed;
  unsigned jobs = 1;
  bool verbose = false;
  bool shrink = false;
};

std::optional<Options> parse(const std::vector<std::string_view>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--verbose" || word == "--shrink") {
      (word == "--shrink" ? options.shrink : options.verbose) = true;
      continue;
    }
    if (i + 1 == arguments.size()) return std::nullopt;
    const std::string_view text = arguments[++i];
    std::uint64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
    if (word == "--seeds")
      options.seeds = number;
    else if (word == "--first-seed")
      options.first_seed = number;
    else if (word == "--jobs" && number >= 1)
      options.jobs = static_cast<unsigned>(number);
    else if (word == "--seed")
      options.seed = number;
    else
      return std::nullopt;
  }
  if (!options.seed && (options.seeds == 0 || options.shrink)) return std::nullopt;
  return options;
}

// What lives came by, so that a run that tries nothing shows.
struct Tally {
  std::uint64_t steps = 0;
  std::uint64_t takeovers = 0;
  std::uint64_t partings = 0;
  std::uint64_t steps_over = 0;
  std::uint64_t twins = 0;
  postern::sim::WireCounts wires;
};

void print(const std::string& text) {
  std::printf("  %s\n", text.c_str());
}

std::string live(std::uint64_t seed, bool verbose, Tally& tally) {
  random_source = postern::sim::RandomSource(seed ^ 0x5eed);
  Life life(seed, verbose ? print : std::function<void(const std::string&)>());
  std::string wrong = life.run();
  tally.steps += life.steps();
  tally.takeovers += life.takeovers();
  tally.partings += life.partings();
  tally.steps_over += life.steps_over();
  tally.twins += life.twins();
  tally.wires.links += life.wire_counts().links;
  tally.wires.meddlings += life.wire_counts().meddlings;
  tally.wires.caught += life.wire_counts().caught;
  tally.wires.recordings += life.wire_counts().recordings;
  return wrong;
}

int shrink(std::uint64_t seed) {
  const auto retell = [seed](const std::set<postern::sim::Trouble>& spared,
                             const std::function<void(const std::string&)>& observer) {
    random_source = postern::sim::RandomSource(seed ^ 0x5eed);
    Life life(seed, observer, spared);
    std::string wrong = life.run();
    return postern::sim::Outcome{std::move(wrong), life.troubles()};
  };
  const postern::sim::Shrunk found =
      postern::sim::shrink([&](const std::set<postern::sim::Trouble>& spared) { return retell(spared, {}); });
  const std::string& wrong = found.outcome.violation;
  if (!wrong.empty()) retell(found.spared, print);
  std::printf("seed %llu: %s; %zu troubles, found in %zu lives\n", static_cast<unsigned long long>(seed),
              wrong.empty() ? "no violation" : wrong.c_str(), found.outcome.troubles.size(), found.lives);
  return wrong.empty() ? 0 : 1;
}

// One process's share: what kind of life a seed has, and what it costs, goes round within as many seeds.
constexpr std::uint64_t kShare = 16;
int work(const Options& options, unsigned job) {
  Tally tally;
  int violations = 0;
  for (std::uint64_t i = 0; i < options.seeds && violations < kEnough; ++i) {
    if (i / kShare % options.jobs != job) continue;
    const std::string wrong = live(options.first_seed + i, false, tally);
    if (wrong.empty()) continue;
    ++violations;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(options.first_seed + i), wrong.c_str());
    std::fflush(stdout);
  }
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "job %u: %llu steps of 100 ms, %llu terms of a holder, %llu of them released while it served, %llu "
      "steps over compacted events, %llu ends of links, %llu meddlings of which %llu met a link, %llu "
      "recordings played, %llu twins, %d violations\n",
      job, number(tally.steps), number(tally.takeovers), number(tally.partings), number(tally.steps_over),
      number(tally.wires.links), number(tally.wires.meddlings), number(tally.wires.caught),
      number(tally.wires.recordings), number(tally.twins), violations);
  return violations == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::optional<Options> options = parse({words + 1, words + count});
  if (!options) {
    std::fputs(
        "usage: mesh-simulation --seeds N [--first-seed S] [--jobs J] | --seed S [--verbose | --shrink]\n",
        stderr);
    return 2;
  }
  randombytes_set_implementation(&seeded_random);
  if (sodium_init() < 0) return 2;
  if (options->shrink) return shrink(*options->seed);
  if (options->seed) {
    Tally ignored;
    const std::string wrong = live(*options->seed, options->verbose, ignored);
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(*options->seed),
                wrong.empty() ? "no violation" : wrong.c_str());
    return wrong.empty() ? 0 : 1;
  }
  for (unsigned job = 0; job < options->jobs; ++job)
    if (::fork() == 0) return work(*options, job);
  int worst = 0;
  for (unsigned job = 0; job < options->jobs; ++job) {
    int status = 0;
    ::wait(&status);
    worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  return worst;
}
