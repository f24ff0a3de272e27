// SPDX-License-Identifier: Apache-2.0
// Packets that are explained (SPEC 1.17): the same answer as the live program's, and nothing moves.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>

#include <map>

#include "dataplane/dry_run.h"
#include "packet_case.h"

namespace postern::testing {
namespace {

std::unique_ptr<dataplane::DryRun> dry_run(const TestGateway& gateway) {
  Result<std::unique_ptr<dataplane::DryRun>> dry = dataplane::DryRun::open(gateway.plane());
  if (!dry) FAIL(dry.error().message());
  return std::move(*dry);
}

dataplane::DryResult explain(dataplane::DryRun& dry, Side side, const Bytes& frame) {
  const Network& network = Network::get();
  const bool underlay = side == Side::underlay;
  Result<dataplane::DryResult> result =
      dry.run(underlay ? config::Role::underlay : config::Role::local,
              IfIndex(underlay ? network.underlay.ifindex : network.site.ifindex), frame);
  if (!result) FAIL(result.error().message());
  return std::move(*result);
}

End end_of(const pt_trace& trace) {
  const pt_sample& sample = trace.sample;
  if (sample.verdict == PT_VERDICT_DROP || sample.verdict == PT_VERDICT_REFUSED)
    return {-static_cast<int>(sample.reason), sample.verdict == PT_VERDICT_REFUSED};
  return {sample.verdict};
}

// Every entry of a map that the packet path writes into.
std::map<Bytes, Bytes> entries(int map_fd) {
  bpf_map_info info{};
  __u32 size = sizeof info;
  REQUIRE(::bpf_obj_get_info_by_fd(map_fd, &info, &size) == 0);
  const bool per_cpu = info.type == BPF_MAP_TYPE_PERCPU_ARRAY || info.type == BPF_MAP_TYPE_PERCPU_HASH;
  const std::size_t value_size =
      per_cpu ? (info.value_size + 7) / 8 * 8 * static_cast<std::size_t>(::libbpf_num_possible_cpus())
              : info.value_size;
  std::map<Bytes, Bytes> all;
  Bytes key(info.key_size), next(info.key_size), value(value_size);
  const void* from = nullptr;
  while (::bpf_map_get_next_key(map_fd, from, next.data()) == 0) {
    key = next;
    from = key.data();
    REQUIRE(::bpf_map_lookup_elem(map_fd, key.data(), value.data()) == 0);
    all.emplace(key, value);
    if (info.type == BPF_MAP_TYPE_ARRAY && all.size() == 64) break;  // the front, which tests use
  }
  return all;
}

constexpr const char* kWritten[] = {
    "verdicts",    "drops",   "incidents", "icmp_tokens",      "flows",       "path_mtus", "rule_counts",
    "peer_counts", "buckets", "credits",   "neighbours_asked", "events_lost", "fences",    "sample_tokens"};

std::map<std::string, std::map<Bytes, Bytes>> everything(const TestGateway& gateway) {
  std::map<std::string, std::map<Bytes, Bytes>> all;
  for (const char* map : kWritten)
    all.emplace(map, entries(gateway.plane().map_fd(map)));
  return all;
}

std::size_t ring_bytes(const TestGateway& gateway) {
  std::size_t events = 0;
  ring_buffer* ring = ::ring_buffer__new(
      gateway.plane().map_fd("events"),
      [](void* count, void*, std::size_t) {
        ++*static_cast<std::size_t*>(count);
        return 0;
      },
      &events, nullptr);
  REQUIRE(ring != nullptr);
  ::ring_buffer__consume(ring);
  ::ring_buffer__free(ring);
  return events;
}

}  // namespace

TEST_CASE("a packet that is explained ends as the live program ends it, and moves nothing") {
  TestGateway gateway(mesh_tables());
  const auto dry = dry_run(gateway);
  bool changed = false;
  for (const PacketCase& one : all_cases()) {
    CAPTURE(one.says);
    if (changed || one.change) {
      dataplane::Tables tables = mesh_tables();
      if (one.change) one.change(tables);
      gateway.adopt(tables);
      changed = static_cast<bool>(one.change);
    }
    const auto before = everything(gateway);
    const dataplane::DryResult said = explain(*dry, one.side, one.frame);
    const auto after = everything(gateway);
    for (const auto& [map, rows] : before)
      CHECK_MESSAGE(rows == after.at(map), "explaining moved " << map);
    CHECK(ring_bytes(gateway) == 0);
    const Run live = one.side == Side::underlay ? gateway.underlay(one.frame) : gateway.local(one.frame);
    CHECK(end_of(said.trace).text() == live.end.text());
    CHECK((said.leaves == live.out));
    ring_bytes(gateway);
  }
}

TEST_CASE("explaining takes no tokens, and says when there are none") {
  dataplane::Tables tables = mesh_tables();
  peer_row(tables, kAlpha).flags = PT_PEER_METERED;
  tables.rates.push_back({kAlpha, pt_rate{{}, {1'000'000'000, 2'000'000'000, 1}}});
  const TestGateway gateway(tables);
  const std::uint32_t key = PT_BUCKET_KEY(kAlpha, PT_FROM_PEER);
  const pt_bucket bucket{};
  const std::vector<pt_credit> credit(static_cast<std::size_t>(::libbpf_num_possible_cpus()));
  REQUIRE(::bpf_map_update_elem(gateway.plane().map_fd("buckets"), &key, &bucket, BPF_ANY) == 0);
  REQUIRE(::bpf_map_update_elem(gateway.plane().map_fd("credits"), &key, credit.data(), BPF_ANY) == 0);
  const auto dry = dry_run(gateway);
  const Bytes frame = from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), site_host()}, 40000, 80, kSyn));
  for (int i = 0; i < 10; ++i) {
    const pt_trace trace = explain(*dry, Side::underlay, frame).trace;
    CHECK(end_of(trace) == verdict(PT_VERDICT_DECAPSULATED));
    CHECK((trace.would & PT_WOULD_TAKE_TOKENS) != 0);
  }
  for (int i = 0; i < 2; ++i)
    CHECK(gateway.underlay(frame).end == verdict(PT_VERDICT_DECAPSULATED));
  CHECK(end_of(explain(*dry, Side::underlay, frame).trace) == drop(PT_DROP_RATE_EXCEEDED));
  CHECK(gateway.underlay(frame).end == drop(PT_DROP_RATE_EXCEEDED));
}

TEST_CASE("the trace names the stage, the owners, the classes, the rule and the way out") {
  const TestGateway gateway(mesh_tables());
  const auto dry = dry_run(gateway);
  const auto from_alpha = [&](const Bytes& packet) {
    return explain(*dry, Side::underlay, from_peer_packet(kAlpha, packet)).trace;
  };
  const pt_trace passes = from_alpha(udp_packet({inside(kAlpha), site_host()}, 40000, 53));
  CHECK(passes.sample.verdict == PT_VERDICT_DECAPSULATED);
  CHECK(passes.sample.sender == kAlpha);
  CHECK(passes.sample.vni == kVni);
  CHECK(passes.sample.destination_port == 53);
  CHECK(passes.sample.flags == (PT_SAMPLE_INNER | PT_SAMPLE_TUNNEL));
  CHECK(passes.source_owner.kind == PT_OWNER_PEER);
  CHECK(passes.source_owner.id == kAlpha);
  CHECK(passes.destination_owner.kind == PT_OWNER_LOCAL);
  CHECK(passes.from_class == kPeerClass);
  CHECK(passes.to_class == kSiteClass);
  CHECK(passes.permission == PT_BY_RULE);
  CHECK(passes.rule != 0);
  CHECK((passes.would & PT_WOULD_REMEMBER) != 0);
  CHECK(passes.sample.egress == Network::get().site.ifindex);
  CHECK(passes.route_ifindex == Network::get().site.ifindex);
  CHECK(passes.stage == PT_AT_ROUTE);

  const pt_trace denied = from_alpha(udp_packet({inside(kAlpha), site_host()}, 40000, 54));
  CHECK(denied.stage == PT_AT_POLICY);
  CHECK(denied.permission == PT_BY_NONE);
  CHECK(denied.rule == 0);
  const pt_trace spoofed = from_alpha(udp_packet({inside(kBeta), site_host()}, 40000, 53));
  CHECK(spoofed.stage == PT_AT_OWN);
  CHECK(spoofed.source_owner.id == kBeta);
  CHECK(spoofed.destination_owner.kind == 0);
  const pt_trace reply = from_alpha(tcp_packet({inside(kAlpha), site_host()}, 8080, 40000, kAck));
  CHECK(reply.permission == PT_BY_REPLY);
  const pt_trace stranger =
      explain(*dry, Side::underlay,
              on_underlay(vxlan_packet({ip("192.0.2.200"), our_underlay()}, 50000, kVni, Bytes(60))))
          .trace;
  CHECK(stranger.stage == PT_AT_ADMIT);
  CHECK(stranger.sample.flags == PT_SAMPLE_INNER);
}

}  // namespace postern::testing
