// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/clock.h"
#include "packet_case.h"

namespace postern::testing {
namespace {

Bytes inward(Who who) {
  return from_peer_packet(who, tcp_packet({inside(who), site_host()}, 40000, 80, kSyn));
}
Bytes outward() {
  return on_site(tcp_packet({site_host(), inside(kAlpha)}, 40000, 80, kSyn));
}

std::uint64_t monotonic_ns() {
  return SystemClock().monotonic_ns();
}

// The selector as the packet path reads it.
class SelectorWord {
 public:
  explicit SelectorWord(const dataplane::Plane& plane)
      : page_(::mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED, plane.map_fd("selector"), 0)) {
    REQUIRE(page_ != MAP_FAILED);
  }
  ~SelectorWord() { ::munmap(page_, size()); }
  SelectorWord(const SelectorWord&) = delete;
  SelectorWord& operator=(const SelectorWord&) = delete;

  __u64 load() const { return word().load(); }
  void store(__u64 value) const { word().store(value, std::memory_order_relaxed); }

 private:
  static std::size_t size() { return static_cast<std::size_t>(::getpagesize()); }
  std::atomic_ref<__u64> word() const { return std::atomic_ref(*static_cast<__u64*>(page_)); }
  void* page_;
};

// Flips between two selectors, as fast as a packet asks for them, from another thread.
class Flipper {
 public:
  Flipper(const SelectorWord& selector, __u64 first, __u64 second)
      : thread_([this, &selector, first, second] {
          for (unsigned turn = 0; !done_; ++turn) {
            selector.store(turn % 2 == 0 ? first : second);
            for (volatile unsigned wait = 0; wait < 20 + turn % 97;)
              wait = wait + 1;
          }
        }) {}
  ~Flipper() {
    done_ = true;
    thread_.join();
  }
  Flipper(const Flipper&) = delete;
  Flipper& operator=(const Flipper&) = delete;

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

// Runs a packet many times in one call; the packet must be one that is dropped before it is touched.
void run_often(const TestGateway& gateway, Bytes frame, int times) {
  xdp_md context{};
  context.data_end = static_cast<__u32>(frame.size());
  context.ingress_ifindex = Network::get().site.ifindex;
  LIBBPF_OPTS(bpf_test_run_opts, options);
  options.data_in = frame.data();
  options.data_size_in = static_cast<__u32>(frame.size());
  options.ctx_in = &context;
  options.ctx_size_in = sizeof context;
  options.repeat = times;
  REQUIRE(::bpf_prog_test_run_opts(gateway.plane().program_fd(config::Role::local), &options) == 0);
}

}  // namespace

TEST_CASE("before anything is adopted the tunnel is closed and the host goes on") {
  const TestGateway gateway;
  CHECK(gateway.underlay(inward(kAlpha)).end == drop(PT_DROP_CLOSED));
  const Route route{ip("192.0.2.50"), our_underlay()};
  CHECK(gateway.underlay(on_underlay(tcp_packet(route, 40000, 22, kSyn))).end == verdict(PT_VERDICT_PASS));
  CHECK(gateway.underlay(on_underlay(udp_packet(route, 40000, 53))).end == verdict(PT_VERDICT_PASS));
  CHECK(gateway.local(outward()).end == verdict(PT_VERDICT_PASS));
}

TEST_CASE("a peer that a new generation revokes is out at the flip, and the others stay") {
  TestGateway gateway(mesh_tables());
  CHECK(gateway.underlay(inward(kAlpha)).end == verdict(PT_VERDICT_DECAPSULATED));
  dataplane::Tables tables = mesh_tables();
  revoke(tables, kAlpha);
  gateway.adopt(tables);
  CHECK(gateway.underlay(inward(kAlpha)).end == drop(PT_DROP_PEER_REVOKED));
  CHECK(gateway.local(outward()).end == drop(PT_DROP_PEER_REVOKED));
  CHECK(gateway.underlay(inward(kBeta)).end == verdict(PT_VERDICT_DECAPSULATED));
  gateway.adopt(mesh_tables());
  CHECK(gateway.underlay(inward(kAlpha)).end == verdict(PT_VERDICT_DECAPSULATED));
}

TEST_CASE("a generation closes at its instant though nobody is there to close it") {
  TestGateway gateway(mesh_tables());
  const Route to_host{ip("192.0.2.50"), our_underlay()};
  const Bytes hosts = on_underlay(tcp_packet(to_host, 40000, 22, kSyn));
  const std::uint64_t closes_ns = monotonic_ns() + 300'000'000;
  gateway.generations().close_at(closes_ns);
  CHECK(gateway.underlay(inward(kAlpha)).end == verdict(PT_VERDICT_DECAPSULATED));
  CHECK(gateway.local(outward()).end == verdict(PT_VERDICT_ENCAPSULATED));
  while (monotonic_ns() < closes_ns + 50'000'000)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(gateway.underlay(inward(kAlpha)).end == drop(PT_DROP_CLOSED));
  CHECK(gateway.local(outward()).end == drop(PT_DROP_CLOSED));
  CHECK(gateway.underlay(hosts).end == verdict(PT_VERDICT_PASS));
  gateway.generations().close_at(0);
  CHECK(gateway.underlay(inward(kAlpha)).end == verdict(PT_VERDICT_DECAPSULATED));
}

TEST_CASE("a generation's closing comes with its flip, and equal tables take it at once") {
  TestGateway gateway(mesh_tables());
  dataplane::Tables tables = mesh_tables();
  revoke(tables, kBeta);
  gateway.adopt(tables, 1);
  CHECK(gateway.underlay(inward(kAlpha)).end == drop(PT_DROP_CLOSED));
  gateway.adopt(tables);
  CHECK(gateway.generations().closes_ns() == 0);
  CHECK(gateway.underlay(inward(kAlpha)).end == verdict(PT_VERDICT_DECAPSULATED));
  gateway.adopt(tables, 1);
  CHECK(gateway.underlay(inward(kAlpha)).end == drop(PT_DROP_CLOSED));
  gateway.adopt(mesh_tables());
  CHECK(gateway.underlay(inward(kAlpha)).end == verdict(PT_VERDICT_DECAPSULATED));
}

// One generation denies the packet by its source, the other by its policy. Only a mix of the two would let it
// pass.
TEST_CASE("no packet is judged by a mix of two generations") {
  dataplane::Tables no_rules = mesh_tables();
  no_rules.policy.clear();
  dataplane::Tables no_source = mesh_tables();
  for (auto& [key, owner] : no_source.owners4)
    if (owner.kind == PT_OWNER_LOCAL && key.vni_be == __builtin_bswap32(kVni))
      owner = {PT_OWNER_PEER, 0, 1, kBeta};
  TestGateway gateway(no_rules);
  const SelectorWord selector(gateway.plane());
  const __u64 first = selector.load();
  CHECK(gateway.local(outward()).end == drop(PT_DROP_POLICY_DENIED));
  gateway.adopt(no_source);
  const __u64 second = selector.load();
  CHECK(gateway.local(outward()).end == drop(PT_DROP_SOURCE_DENIED));
  REQUIRE(PT_SELECTOR_SLOT(first) != PT_SELECTOR_SLOT(second));

  const Flipper flipper(selector, first, second);
  constexpr unsigned kBatch = 2000;
  constexpr unsigned kEnough = 20;
  unsigned flipped_within = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (flipped_within < kEnough && std::chrono::steady_clock::now() < deadline) {
    const auto before = read_counts(gateway.plane().map_fd("drops"), PT_DROP_REASON_COUNT);
    run_often(gateway, outward(), kBatch);
    const auto after = read_counts(gateway.plane().map_fd("drops"), PT_DROP_REASON_COUNT);
    const auto source = after[PT_DROP_SOURCE_DENIED].packets - before[PT_DROP_SOURCE_DENIED].packets;
    const auto rule = after[PT_DROP_POLICY_DENIED].packets - before[PT_DROP_POLICY_DENIED].packets;
    REQUIRE(source + rule == kBatch);
    // A flip in the middle of the batch, and not just one: the flipper runs at the same time.
    if (source > 10 && rule > 10) ++flipped_within;
  }
  CHECK(flipped_within == kEnough);
}

}  // namespace postern::testing
