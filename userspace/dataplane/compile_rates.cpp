// SPDX-License-Identifier: Apache-2.0
// A rate as the packet path wants it (SPEC 1.12): in chunks that a CPU takes at once, and the time that each
// costs. A chunk is what a millisecond allows, so that CPUs meet at a bucket a thousand times a second at
// most; the burst is a tenth of a second, and never so small that the largest frame could not pass.
#include <algorithm>

#include "dataplane/compile_parts.h"

namespace postern::dataplane {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kChunksPerSecond = 1000;
constexpr std::uint64_t kBurstsPerSecond = 10;
constexpr std::uint64_t kLargestFrameBytes = 65'536 + 512;
// A burst's price fits 64 bits, in nanoseconds before the division; 64 GB/s are no limit.
constexpr std::uint64_t kMostPerSecond = std::uint64_t{1} << 36;

pt_allowance allowance(std::uint64_t per_second, std::uint64_t largest) {
  pt_allowance out{};
  const std::uint64_t rate = std::min(per_second, kMostPerSecond);
  if (rate == 0) return out;
  const auto cost_ns = [rate](std::uint64_t amount) { return (amount * kNsPerSecond + rate - 1) / rate; };
  out.chunk = std::max<std::uint64_t>(rate / kChunksPerSecond, 1);
  out.chunk_ns = cost_ns(out.chunk);
  // One chunk more, for what rounding up to whole chunks takes too much.
  out.burst_ns = cost_ns(std::max(rate / kBurstsPerSecond, largest) + out.chunk);
  return out;
}

}  // namespace

Result<> compile_rates(const authority::Snapshot& snapshot, const SnapshotIndex& index, const Site& site,
                       Tables& tables) {
  if (!site.guarded.ports.empty()) {
    tables.rates.emplace_back(__u32{0}, pt_rate{{}, allowance(site.guarded.rate_packets_per_s, 1)});
  }
  for (const authority::Peer& peer : snapshot.peers) {
    if (!peer.rate_bytes_per_s && !peer.rate_packets_per_s) continue;
    const Result<PeerId> id = index.peer(peer.id, "peer " + peer.id);
    if (!id) return fail(id.error().code, id.error().context);
    tables.rates.emplace_back(id->value,
                              pt_rate{allowance(peer.rate_bytes_per_s.value_or(0), kLargestFrameBytes),
                                      allowance(peer.rate_packets_per_s.value_or(0), 1)});
  }
  sort_rows(tables.rates);
  return {};
}

}  // namespace postern::dataplane
