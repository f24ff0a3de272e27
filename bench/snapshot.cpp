// SPDX-License-Identifier: Apache-2.0
// What a gateway pays for a large snapshot between the file and the compiler: hash, signature, parse, check.
// One core, CPU time, medians; a machine's speed is divided out by a baseline of the same run, BLAKE2b over
// the payload.
#include <simdjson.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "authority/adoption_rules.h"
#include "authority/envelope.h"
#include "authority/snapshot_check.h"
#include "authority/snapshot_codec.h"
#include "core/utc.h"
#include "cpu_time.h"

namespace postern {
namespace {

using namespace authority;
using bench::cpu_seconds;
using bench::median;

constexpr int kRounds = 5;
constexpr std::uint32_t kPeers = 100'000;
constexpr std::uint32_t kPrefixes = 1'000'000;
constexpr std::uint32_t kClasses = 256;
constexpr std::uint32_t kIpv6Every = 4;

IpAddress ipv4(std::uint32_t address) {
  IpAddress out = *IpAddress::parse("0.0.0.0");
  for (std::size_t i = 0; i < 4; ++i)
    out.bytes[12 + i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
  return out;
}

IpPrefix ipv6_block(std::uint32_t number) {
  IpPrefix out{*IpAddress::parse("fd00::"), 64};
  for (std::size_t i = 0; i < 4; ++i)
    out.address.bytes[4 + i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
  return out;
}

Peer peer_of(std::uint32_t number) {
  Peer out;
  out.id = "site-" + std::to_string(number);
  out.addresses = {ipv4(0xc6000000U + number)};
  out.segments = {"blue"};
  out.mac = MacAddress{{2, 0, 1, static_cast<std::uint8_t>(number >> 16),
                        static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)}};
  return out;
}

Snapshot large_snapshot(const wire::PublicKey& key) {
  Snapshot out;
  out.mesh = "large";
  out.serial = Serial(1);
  out.issued = UtcSeconds(1'767'225'600);
  out.expires = UtcSeconds(1'798'761'600);
  out.root = {1, {key}};
  out.segments = {{"blue", Vni(100), {}, {}}};
  for (std::uint32_t i = 0; i < kClasses; ++i)
    out.classes.push_back("class-" + std::to_string(i));
  for (std::uint32_t i = 0; i < kPeers; ++i)
    out.peers.push_back(peer_of(i));
  for (std::uint32_t i = 0; i < kPrefixes; ++i) {
    const IpPrefix prefix = i % kIpv6Every == 0 ? ipv6_block(i) : IpPrefix{ipv4(0x0a000000U + (i << 4)), 28};
    out.prefixes.push_back(
        {"blue", prefix, {OwnerKind::peer, out.peers[i % kPeers].id}, out.classes[i % kClasses]});
  }
  for (std::uint32_t i = 1; i < kClasses; ++i)
    out.rules.push_back(
        {out.classes[i - 1], out.classes[i], Protocol::tcp, {{443, 443}}, {}, {}, false, false});
  return out;
}

struct Step {
  const char* name;
  std::function<bool()> run;
  std::vector<double> seconds;
};

std::vector<Step> steps_over(const std::string& file, const Root& root, const Snapshot& snapshot) {
  const std::string_view payload = open_envelope(file)->payload;
  return {
      {"hash (BLAKE2b-256)", [payload] { return payload_hash(payload) != Hash256{}; }, {}},
      {"UTF-8 (simdjson)", [payload] { return simdjson::validate_utf8(payload.data(), payload.size()); }, {}},
      {"signature (Ed25519)",
       [&file, &root] {
         return verify_threshold(*open_envelope(file), root, wire::domain::snapshot).has_value();
       },
       {}},
      {"check of the parts",
       [&snapshot] { return check_snapshot(snapshot, place_in_document).has_value(); },
       {}},
      {"parse, with the check", [payload] { return parse_snapshot(payload).has_value(); }, {}},
      {"all: verify_snapshot",
       [&file, &root] { return verify_snapshot(file, root, "large").has_value(); },
       {}},
      {"encode", [&snapshot] { return !encode_snapshot(snapshot).empty(); }, {}},
  };
}

int report(const std::vector<Step>& steps, std::size_t payload_bytes) {
  utsname machine{};
  ::uname(&machine);
  const double megabytes = static_cast<double>(payload_bytes) / 1e6;
  std::printf("snapshot: %u peers, %u prefixes, %.1f MB; %s %s, one core, CPU time, median of %d\n", kPeers,
              kPrefixes, megabytes, machine.sysname, machine.release, kRounds);
  std::printf("%-28s %10s %10s %10s\n", "step", "seconds", "MB/s", "ratio");
  const double base = median(steps.front().seconds);
  std::string json;
  for (const Step& step : steps) {
    const double own = median(step.seconds);
    std::printf("%-28s %10.3f %10.0f %10.2f\n", step.name, own, megabytes / own, own / base);
    json += std::string(json.empty() ? "" : ",") + "{\"ratio\":" + std::to_string(own / base) +
            ",\"seconds\":" + std::to_string(own) + ",\"step\":\"" + step.name + "\"}";
  }
  std::FILE* out = std::fopen("build/bench-snapshot.json", "w");
  if (out == nullptr) return 1;
  std::fprintf(out, "{\"bytes\":%zu,\"kernel\":\"%s\",\"steps\":[%s]}\n", payload_bytes, machine.release,
               json.c_str());
  return std::fclose(out);
}

int run() {
  const wire::SecretKey key = wire::SecretKey::generate();
  const Snapshot snapshot = large_snapshot(key.public_key());
  const std::string payload = encode_snapshot(snapshot);
  const Result<std::string> file = add_signature(seal_envelope({}, payload), key, wire::domain::snapshot);
  if (!file) return std::fprintf(stderr, "%s\n", file.error().message().c_str()), 1;
  std::vector<Step> steps = steps_over(*file, snapshot.root, snapshot);
  for (int round = 0; round < kRounds; ++round) {
    for (Step& step : steps) {
      const double began = cpu_seconds();
      if (!step.run()) return std::fprintf(stderr, "%s failed\n", step.name), 1;
      step.seconds.push_back(cpu_seconds() - began);
    }
  }
  return report(steps, payload.size());
}

}  // namespace
}  // namespace postern

int main() {
  return postern::run();
}
