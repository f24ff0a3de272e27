// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "packet_case.h"

namespace postern::testing {
namespace {

constexpr std::uint64_t kLong_ns = 1'000'000'000'000;  // no test lasts this long
const End kIn = verdict(PT_VERDICT_DECAPSULATED);
const End kOut = verdict(PT_VERDICT_ENCAPSULATED);
const End kTooMuch = drop(PT_DROP_RATE_EXCEEDED);

// So many chunks at once, and then as good as none.
pt_allowance only(std::uint64_t chunks, std::uint64_t chunk) {
  return {kLong_ns, chunks * kLong_ns, chunk};
}

dataplane::Tables metered(Who who, const pt_rate& rate) {
  dataplane::Tables tables = mesh_tables();
  peer_row(tables, who).flags = PT_PEER_METERED;
  endpoint_row(tables, who).flags = PT_PEER_METERED;
  tables.rates.push_back({who, rate});
  return tables;
}

Bytes from(Who who) {
  return from_peer_packet(who, tcp_packet({inside(who), site_host()}, 40000, 80, kSyn));
}
Bytes to(Who who) {
  return on_site(tcp_packet({site_host(), inside(who)}, 40000, 80, kSyn));
}

// One packet's action, without the books of TestGateway, which are one thread's.
unsigned action(const TestGateway& gateway, const Bytes& frame) {
  Bytes out(frame.size() + 256);
  xdp_md context{};
  context.data_end = static_cast<__u32>(frame.size());
  context.ingress_ifindex = Network::get().underlay.ifindex;
  LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(), .data_out = out.data(),
              .data_size_in = static_cast<__u32>(frame.size()),
              .data_size_out = static_cast<__u32>(out.size()), .ctx_in = &context,
              .ctx_size_in = sizeof context, .repeat = 1);
  if (::bpf_prog_test_run_opts(gateway.plane().program_fd(config::Role::underlay), &options) != 0)
    return XDP_ABORTED;
  return options.retval;
}

}  // namespace

TEST_CASE("a peer gets its burst and not a packet more") {
  const TestGateway gateway(metered(kAlpha, {{}, only(10, 1)}));
  for (int i = 0; i < 10; ++i)
    CHECK(gateway.underlay(from(kAlpha)).end == kIn);
  CHECK(gateway.underlay(from(kAlpha)).end == kTooMuch);
  CHECK(gateway.underlay(from(kBeta)).end == kIn);  // another's is another's
  for (int i = 0; i < 10; ++i)
    CHECK(gateway.local(to(kAlpha)).end == kOut);  // what is sent to it is counted apart
  CHECK(gateway.local(to(kAlpha)).end == kTooMuch);
}

TEST_CASE("bytes are metered as the frames are long") {
  const Bytes frame = from(kAlpha);
  const TestGateway gateway(metered(kAlpha, {only(4, frame.size()), {}}));
  for (int i = 0; i < 4; ++i)
    CHECK(gateway.underlay(frame).end == kIn);
  CHECK(gateway.underlay(frame).end == kTooMuch);
}

TEST_CASE("what the policy denies takes nothing from the rate") {
  const TestGateway gateway(metered(kAlpha, {{}, only(1, 1)}));
  const Bytes denied = from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), site_host()}, 40000, 81, kSyn));
  for (int i = 0; i < 5; ++i)
    CHECK(gateway.underlay(denied).end == drop(PT_DROP_POLICY_DENIED));
  CHECK(gateway.underlay(from(kAlpha)).end == kIn);
}

TEST_CASE("a flip refills no bucket") {
  TestGateway gateway(metered(kAlpha, {{}, only(1, 1)}));
  CHECK(gateway.underlay(from(kAlpha)).end == kIn);
  dataplane::Tables next = metered(kAlpha, {{}, only(1, 1)});
  next.gateway.serial = 2;
  gateway.adopt(next);
  CHECK(gateway.underlay(from(kAlpha)).end == kTooMuch);
}

TEST_CASE("a rate without its rows drops, and is no free pass") {
  dataplane::Tables tables = metered(kAlpha, {{}, only(1, 1)});
  tables.rates.clear();
  const TestGateway gateway(tables);
  CHECK(gateway.underlay(from(kAlpha)).end == drop(PT_DROP_TABLE_MISSING));
}

TEST_CASE("all CPUs together spend a burst once") {
  constexpr std::uint64_t kBurst = 5000;
  const TestGateway gateway(metered(kAlpha, {{}, only(kBurst, 1)}));
  std::atomic<std::uint64_t> passed{0};
  std::vector<std::thread> threads;
  const unsigned cpus = std::max(2U, std::thread::hardware_concurrency());
  for (unsigned cpu = 0; cpu < cpus; ++cpu) {
    threads.emplace_back([&, cpu] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ::sched_setaffinity(0, sizeof one, &one);
      for (std::uint64_t i = 0; i < kBurst; ++i)
        passed += action(gateway, from(kAlpha)) == XDP_REDIRECT;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  // A CPU that loses too many races in a row refuses a packet; it never lets one through for it.
  CHECK(passed <= kBurst);
  CHECK(passed >= kBurst - kBurst / 100);
}

TEST_CASE("a bucket fills with time, by its rate and no faster") {
  constexpr std::uint64_t kPerSecond = 1000;
  constexpr std::uint64_t kBurst = 100;
  const std::uint64_t each_ns = 1'000'000'000 / kPerSecond;
  const TestGateway gateway(metered(kAlpha, {{}, {each_ns, kBurst * each_ns, 1}}));
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t passed = 0;
  while (passed < 5 * kBurst)
    passed += action(gateway, from(kAlpha)) == XDP_REDIRECT;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  CHECK(static_cast<double>(passed) <= static_cast<double>(kBurst) + took.count() * kPerSecond + 20);
}

}  // namespace postern::testing
