// SPDX-License-Identifier: Apache-2.0
// What an event costs the fold, and what the digest costs: a million events in 8, 512 and 8,192 streams,
// added in turns, as sync brings them. One core, CPU time, medians; a machine's speed is divided out by a
// baseline of the same run, one BLAKE2b over a header's bytes an event, which whoever verifies it pays in any
// case.
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "cpu_time.h"
#include "ledger/event_kinds.h"
#include "ledger/fold.h"
#include "wire/hash.h"

namespace postern {
namespace {

using namespace ledger;
using bench::cpu_seconds;
using bench::median;

constexpr int kRounds = 5;
constexpr std::size_t kEvents = 1'000'000;
constexpr std::size_t kStreams[] = {8, 512, 8'192};
constexpr std::size_t kStreamsANodeHere = 8;
constexpr std::size_t kHeaderBytes = 400;  // of a signed header
constexpr int kDigests = 20;

double seconds_of(const std::function<void()>& work) {
  const double began = cpu_seconds();
  work();
  return cpu_seconds() - began;
}

// The fold believes the hash that it is given, so these need neither signature nor sealed bytes.
Hash256 hash_of(std::size_t stream, std::uint64_t seq) {
  Hash256 hash{};
  store_le(hash, 0, static_cast<std::uint64_t>(stream + 1));
  store_le(hash, 8, seq);
  return hash;
}

std::vector<Event> first_events(std::size_t streams) {
  std::vector<Event> out;
  wire::SecretKey key = wire::SecretKey::generate();
  for (std::size_t i = 0; i < streams; ++i) {
    if (i % kStreamsANodeHere == 0) key = wire::SecretKey::generate();
    Event event;
    event.mesh = "bench";
    event.stream = new_stream_id(key.public_key());
    event.key = key.public_key();
    event.seq = Seq(1);
    event.kind = std::string(kStreamOpened);
    event.lamport = Lamport(1);
    event.body = wire::Json::object();
    out.push_back(std::move(event));
  }
  return out;
}

Fold filled(std::vector<Event> next) {
  Fold fold("bench");
  for (std::size_t added = 0; added < kEvents; ++added) {
    const std::size_t stream = added % next.size();
    Event& event = next[stream];
    const Hash256 hash = hash_of(stream, event.seq.value);
    if (fold.place(event, hash) != Place::next) std::exit(std::fprintf(stderr, "an event did not fit\n"));
    fold.add(event, hash);
    event.seq = event.seq.next();
    event.lamport = Lamport(event.lamport.value + 1);
    event.prev = hash;
    event.kind = "AuthorityActive";
  }
  return fold;
}

struct Row {
  std::size_t streams;
  double add_ns;
  double digest_us;
  double hash_ns;
};

Row measure(std::size_t streams) {
  const std::vector<Event> first = first_events(streams);
  const Bytes header(kHeaderBytes, 'h');
  std::vector<double> add;
  std::vector<double> digest;
  std::vector<double> hash;
  for (int round = 0; round < kRounds; ++round) {
    hash.push_back(seconds_of([&] {
                     for (std::size_t i = 0; i < kEvents / 10; ++i)
                       (void)wire::blake2b({header});
                   }) *
                   10 / kEvents * 1e9);
    std::optional<Fold> fold;
    add.push_back(seconds_of([&] { fold = filled(first); }) / kEvents * 1e9);
    digest.push_back(seconds_of([&] {
                       for (int i = 0; i < kDigests; ++i) {
                         // Each follows on a change; otherwise the last one is kept.
                         fold->start({{first[0].stream, {first[0].key, Seq(1), {}, Lamport(1)}}});
                         (void)fold->digest();
                       }
                     }) /
                     kDigests * 1e6);
  }
  return {streams, median(add), median(digest), median(hash)};
}

int run() {
  utsname machine{};
  ::uname(&machine);
  std::printf("fold: %s %s; %zu events, medians of %d, CPU time of one core\n\n", machine.sysname,
              machine.release, kEvents, kRounds);
  std::printf("%8s %12s %14s %14s %12s\n", "streams", "ns/event", "BLAKE2b ns", "event/BLAKE2b", "us/digest");
  std::string json;
  for (const std::size_t streams : kStreams) {
    const Row row = measure(streams);
    std::printf("%8zu %12.0f %14.0f %14.2f %12.1f\n", row.streams, row.add_ns, row.hash_ns,
                row.add_ns / row.hash_ns, row.digest_us);
    std::fflush(stdout);
    char text[200];
    std::snprintf(text, sizeof text,
                  "%s{\"streams\":%zu,\"event_ns\":%.1f,\"blake2b_ns\":%.1f,\"digest_us\":%.2f}",
                  json.empty() ? "" : ",", row.streams, row.add_ns, row.hash_ns, row.digest_us);
    json += text;
  }
  std::FILE* file = std::fopen("build/bench-fold.json", "w");
  if (file == nullptr) return 1;
  std::fprintf(file, "{\"schema\":1,\"kernel\":\"%s\",\"events\":%zu,\"rows\":[%s]}\n", machine.release,
               kEvents, json.c_str());
  return std::fclose(file);
}

}  // namespace
}  // namespace postern

int main() {
  return postern::run();
}
