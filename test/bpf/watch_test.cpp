// SPDX-License-Identifier: Apache-2.0
// Samples for those who watch (SPEC 1.18).
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>

#include <ctime>

#include "dataplane/counters.h"
#include "dataplane/sample_ring.h"
#include "packet_case.h"

namespace postern::testing {
namespace {

struct Seen {
  pt_sample sample;
  Bytes frame;
};

std::uint64_t soon_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec + 60) * 1'000'000'000;
}

pt_watch all_packets(std::uint32_t snap = 0) {
  pt_watch watch{};
  watch.until_ns = soon_ns();
  watch.reasons[0] = watch.reasons[1] = ~0ULL;
  watch.verdicts = ~0U;
  watch.snap = snap;
  return watch;
}

class Watched {
 public:
  explicit Watched(const TestGateway& gateway) : gateway_(gateway) {
    auto ring = dataplane::SampleRing::open(gateway.plane(), [this](const pt_sample& sample, ByteView frame) {
      seen_.push_back({sample, Bytes(frame.begin(), frame.end())});
    });
    if (!ring) FAIL(ring.error().message());
    ring_ = std::move(*ring);
  }
  void watch(const pt_watch& wanted) { REQUIRE(dataplane::write_watch(gateway_.plane(), wanted)); }
  std::vector<Seen> take(std::size_t most = 100'000) {
    const Result<bool> more = ring_->drain(most);
    REQUIRE(more);
    more_ = *more;
    return std::exchange(seen_, {});
  }
  bool more() const { return more_; }

 private:
  const TestGateway& gateway_;
  std::unique_ptr<dataplane::SampleRing> ring_;
  std::vector<Seen> seen_;
  bool more_ = false;
};

Bytes allowed() {
  return from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), site_host()}, 40000, 80, kSyn));
}
Bytes denied() {
  return from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), site_host()}, 40000, 81, kSyn));
}

std::uint64_t lost(const TestGateway& gateway, pt_loss what) {
  const auto losses = dataplane::read_events_lost(gateway.plane());
  REQUIRE(losses);
  return (*losses)[what];
}

}  // namespace

TEST_CASE("nobody is told of packets unless somebody watches, and nobody after the wish has ended") {
  const TestGateway gateway(mesh_tables());
  Watched watched(gateway);
  gateway.underlay(denied());
  CHECK(watched.take().empty());
  watched.watch(all_packets());
  gateway.underlay(denied());
  CHECK(watched.take().size() == 1);
  pt_watch over = all_packets();
  over.until_ns = 1;
  watched.watch(over);
  gateway.underlay(denied());
  CHECK(watched.take().empty());
  watched.watch({});
  gateway.underlay(denied());
  CHECK(watched.take().empty());
}

TEST_CASE("a sample tells of every case what the counters tell, and the frame is the one that arrived") {
  TestGateway gateway(mesh_tables());
  Watched watched(gateway);
  watched.watch(all_packets(PT_SNAP_BYTES));
  bool changed = false;
  for (const PacketCase& one : all_cases()) {
    CAPTURE(one.says);
    if (changed || one.change) {
      dataplane::Tables tables = mesh_tables();
      if (one.change) one.change(tables);
      gateway.adopt(tables);
      changed = static_cast<bool>(one.change);
    }
    const Run live = one.side == Side::underlay ? gateway.underlay(one.frame) : gateway.local(one.frame);
    const std::vector<Seen> seen = watched.take();
    REQUIRE(seen.size() == 1);
    const pt_sample& sample = seen.front().sample;
    const bool dropped = sample.verdict == PT_VERDICT_DROP || sample.verdict == PT_VERDICT_REFUSED;
    const End end = dropped ? End{-static_cast<int>(sample.reason), sample.verdict == PT_VERDICT_REFUSED}
                            : End{sample.verdict};
    CHECK(end.text() == live.end.text());
    CHECK(sample.length == one.frame.size());
    CHECK((seen.front().frame == one.frame));
  }
}

TEST_CASE("a sample names peer, segment, addresses and the way out") {
  const TestGateway gateway(mesh_tables());
  Watched watched(gateway);
  watched.watch(all_packets(64));
  gateway.underlay(allowed());
  gateway.local(on_site(tcp_packet({site_host(), inside(kBeta)}, 40000, 80, kSyn)));
  gateway.underlay(on_underlay(vxlan_packet({ip("192.0.2.200"), our_underlay()}, 50000, kVni, Bytes(60))));
  const std::vector<Seen> seen = watched.take();
  REQUIRE(seen.size() == 3);
  const pt_sample& in = seen[0].sample;
  CHECK(in.sender == kAlpha);
  CHECK(in.vni == kVni);
  CHECK(in.flags == (PT_SAMPLE_INNER | PT_SAMPLE_TUNNEL));
  CHECK(std::memcmp(&in.source, inside(kAlpha).bytes.data(), 16) == 0);
  CHECK(std::memcmp(&in.tunnel_source, underlay_of(kAlpha).bytes.data(), 16) == 0);
  CHECK(in.destination_port == 80);
  CHECK(in.egress == Network::get().site.ifindex);
  CHECK(seen[0].frame.size() == 64);
  const pt_sample& out = seen[1].sample;
  CHECK(out.sender == 0);
  CHECK(out.receiver == kBeta);
  CHECK(out.flags == PT_SAMPLE_INNER);
  CHECK(out.egress == Network::get().underlay.ifindex);
  CHECK(out.ifindex == Network::get().site.ifindex);
  // What a packet before it left in the scratch is not this one's.
  const pt_sample& stranger = seen[2].sample;
  CHECK(std::memcmp(&stranger.source, ip("192.0.2.200").bytes.data(), 16) == 0);
  CHECK(stranger.flags == PT_SAMPLE_INNER);
}

TEST_CASE("what nobody asked for is not sent") {
  const TestGateway gateway(mesh_tables());
  Watched watched(gateway);
  const auto sees = [&](const pt_watch& wanted) {
    watched.watch(wanted);
    gateway.underlay(allowed());
    gateway.underlay(denied());
    return watched.take().size();
  };
  CHECK(sees(all_packets()) == 2);
  pt_watch wanted = all_packets();
  wanted.verdicts = 1U << PT_VERDICT_DROP;
  CHECK(sees(wanted) == 1);
  wanted.reasons[0] = 1ULL << PT_DROP_NO_ROUTE;
  CHECK(sees(wanted) == 0);
  wanted = all_packets();
  wanted.peer = kBeta;
  CHECK(sees(wanted) == 0);
  wanted.peer = kAlpha;
  CHECK(sees(wanted) == 2);
  wanted.vni = kOtherVni;
  CHECK(sees(wanted) == 0);
  wanted.vni = kVni;
  wanted.ifindex = Network::get().site.ifindex;
  CHECK(sees(wanted) == 0);
}

TEST_CASE("samples that find the ring full, or come too fast, are lost and counted") {
  const TestGateway gateway(mesh_tables());
  Watched watched(gateway);
  pt_watch wanted = all_packets();
  wanted.token_ns = 1'000'000'000;
  wanted.tokens = 3;
  watched.watch(wanted);
  for (int i = 0; i < 10; ++i)
    gateway.underlay(denied());
  const std::size_t seen = watched.take().size();
  CHECK(seen >= 1);
  CHECK(seen <= 4);
  CHECK(lost(gateway, PT_LOST_RATE) == 10 - seen);

  watched.watch(all_packets(PT_SNAP_BYTES));
  const Bytes big = from_peer_packet(kAlpha, udp_packet({inside(kAlpha), site_host()}, 40000, 53, 3800));
  const std::size_t record = 128 + big.size();
  std::size_t sent = 0;
  while (sent * record < 2 * std::size_t{PT_SAMPLES_BYTES} && lost(gateway, PT_LOST_SAMPLES) < 5) {
    gateway.underlay(big);
    ++sent;
  }
  CHECK(lost(gateway, PT_LOST_SAMPLES) == 5);
  CHECK(watched.take(10).size() == 10);
  CHECK(watched.more());
  CHECK(watched.take().size() == sent - 5 - 10);
  CHECK_FALSE(watched.more());
}

TEST_CASE("a frame that was kept before somebody else began to watch is not shown as a later one's") {
  const TestGateway gateway(mesh_tables());
  Watched watched(gateway);
  watched.watch(all_packets(PT_SNAP_BYTES));
  gateway.underlay(denied());
  watched.take();
  watched.watch(all_packets());
  gateway.underlay(denied());
  const std::vector<Seen> seen = watched.take();
  REQUIRE(seen.size() == 1);
  CHECK(seen.front().frame.empty());
}

}  // namespace postern::testing
