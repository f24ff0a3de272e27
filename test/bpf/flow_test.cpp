// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kIn = verdict(PT_VERDICT_DECAPSULATED);
const End kOut = verdict(PT_VERDICT_ENCAPSULATED);
const End kDenied = drop(PT_DROP_POLICY_DENIED);
constexpr std::uint16_t kNtp = 123;
constexpr std::uint8_t kNtpClass = 2;

// The site may ask peers by UDP 123 and echo, and they may not ask back.
dataplane::Tables one_way(std::uint32_t flags = 0) {
  dataplane::Tables tables = mesh_tables();
  std::erase_if(tables.policy, [](const auto& row) { return row.first.protocol != PT_PROTO_TCP; });
  tables.port_classes.assign(std::size_t{PT_PROTO_COUNT} * PT_PORT_LINES, pt_port_line{});
  set_port_class(tables, PT_PROTO_UDP, kNtp, kNtpClass);
  set_port_class(tables, PT_PROTO_ICMP, 8 << 8, 1);
  set_port_class(tables, PT_PROTO_ICMPV6, 128 << 8, 1);
  allow(tables, kSiteClass, kPeerClass, PT_PROTO_UDP, kNtpClass, flags);
  allow(tables, kSiteClass, kPeerClass, PT_PROTO_ICMP, 1, flags);
  allow(tables, kSiteClass, kPeerClass, PT_PROTO_ICMPV6, 1, flags);
  return tables;
}

Bytes question(std::uint16_t port = 40000) {
  return on_site(udp_packet({site_host(), inside(kAlpha)}, port, kNtp));
}
Bytes answer(std::uint16_t port = 40000, Who who = kAlpha, std::uint16_t from = kNtp) {
  return from_peer_packet(who, udp_packet({inside(who), site_host()}, from, port));
}
Bytes with_identifier(std::uint16_t identifier) {
  Bytes rest(8);
  store_be16(rest, 0, identifier);
  return rest;
}

bool is_ipv4(std::uint8_t type) {
  return type < 128;  // of those below
}
Bytes ask_echo(std::uint8_t type, std::uint16_t identifier) {
  const Route route =
      is_ipv4(type) ? Route{site_host(), inside(kAlpha)} : Route{site_host6(), inside6(kAlpha)};
  return on_site(icmp_packet(route, type, 0, with_identifier(identifier)));
}
Bytes answer_echo(std::uint8_t type, std::uint16_t identifier) {
  const Route route =
      is_ipv4(type) ? Route{inside(kAlpha), site_host()} : Route{inside6(kAlpha), site_host6()};
  return from_peer_packet(kAlpha, icmp_packet(route, type, 0, with_identifier(identifier)));
}

}  // namespace

TEST_CASE("a UDP packet from a server's port is no reply unless its question was let go") {
  const TestGateway gateway(one_way());
  CHECK(gateway.underlay(answer()).end == kDenied);
  CHECK(gateway.local(question()).end == kOut);
  CHECK(gateway.underlay(answer()).end == kIn);
  CHECK(gateway.underlay(answer()).end == kIn);
  CHECK(gateway.underlay(answer(40001)).end == kDenied);              // another of the asker's ports
  CHECK(gateway.underlay(answer(40000, kBeta)).end == kDenied);       // another peer
  CHECK(gateway.underlay(answer(40000, kAlpha, 53)).end == kDenied);  // another of the server's ports
}

TEST_CASE("an echo reply passes by its request and its identifier") {
  const TestGateway gateway(one_way());
  for (const auto& [request, reply] : {std::pair<std::uint8_t, std::uint8_t>(8, 0), {128, 129}}) {
    CHECK(gateway.underlay(answer_echo(reply, 7)).end == kDenied);
    CHECK(gateway.local(ask_echo(request, 7)).end == kOut);
    CHECK(gateway.underlay(answer_echo(reply, 7)).end == kIn);
    CHECK(gateway.underlay(answer_echo(reply, 8)).end == kDenied);
    CHECK(gateway.underlay(answer_echo(request, 7)).end == kDenied);
  }
}

TEST_CASE("a question that is denied leaves no way for an answer") {
  const TestGateway gateway(one_way());
  CHECK(gateway.local(on_site(udp_packet({site_host(), inside(kAlpha)}, 40000, 124))).end == kDenied);
  CHECK(gateway.underlay(answer(40000, kAlpha, 124)).end == kDenied);
}

TEST_CASE("a strict rule remembers no flow") {
  const TestGateway gateway(one_way(PT_RULE_STRICT));
  CHECK(gateway.local(question()).end == kOut);
  CHECK(gateway.underlay(answer()).end == kDenied);
}

TEST_CASE("a running flow ends at the flip that takes its rule, and goes on over one that does not") {
  TestGateway gateway(one_way());
  REQUIRE(gateway.local(question()).end == kOut);
  dataplane::Tables changed = one_way();
  changed.gateway.serial = 2;
  gateway.adopt(changed);
  CHECK(gateway.underlay(answer()).end == kIn);
  changed.policy.pop_back();
  std::erase_if(changed.policy, [](const auto& row) { return row.first.protocol == PT_PROTO_UDP; });
  gateway.adopt(changed);
  CHECK(gateway.underlay(answer()).end == kDenied);
  changed = one_way(PT_RULE_STRICT);
  gateway.adopt(changed);
  CHECK(gateway.underlay(answer()).end == kDenied);
  SUBCASE("and one whose rule returns needs its question no second time") {
    gateway.adopt(one_way());
    CHECK(gateway.underlay(answer()).end == kIn);
  }
}

TEST_CASE("a revoked peer's running flow stops at the flip") {
  TestGateway gateway(one_way());
  REQUIRE(gateway.local(question()).end == kOut);
  dataplane::Tables changed = one_way();
  revoke(changed, kAlpha);
  gateway.adopt(changed);
  CHECK(gateway.underlay(answer()).end == drop(PT_DROP_PEER_REVOKED));
}

TEST_CASE("a segment's flow lets nothing back in another segment") {
  dataplane::Tables tables = one_way();
  // The same prefixes once more, in the other segment.
  for (const auto& [prefix, owner] :
       {std::pair("10.2.0.0/16", pt_owner{PT_OWNER_PEER, 0, kPeerClass, kAlpha}),
        std::pair("10.1.0.0/16", pt_owner{PT_OWNER_LOCAL, 0, kSiteClass, 0})}) {
    add_owner(tables, kOtherVni, *IpPrefix::parse(prefix), owner);
  }
  tables.owners4.erase(std::unique(tables.owners4.begin(), tables.owners4.end(),
                                   [](const auto& a, const auto& b) {
                                     return std::memcmp(&a.first, &b.first, sizeof a.first) == 0;
                                   }),
                       tables.owners4.end());
  peer_row(tables, kAlpha).segments[0] = 3;
  sort_rows(tables);
  tables.owners4.erase(std::unique(tables.owners4.begin(), tables.owners4.end(),
                                   [](const auto& a, const auto& b) {
                                     return std::memcmp(&a.first, &b.first, sizeof a.first) == 0;
                                   }),
                       tables.owners4.end());
  const TestGateway gateway(tables);
  REQUIRE(gateway.local(question()).end == kOut);
  const Bytes stray =
      from_peer_packet(kAlpha, udp_packet({inside(kAlpha), site_host()}, kNtp, 40000), kOtherVni);
  CHECK(gateway.underlay(stray).end == kDenied);
}

TEST_CASE("a flow that cannot be remembered is dropped and counted, never let through") {
  // Room for one flow, and two CPUs that want it at the same time, again and again.
  auto plane = dataplane::Plane::open_unpinned({.flows = 1});
  REQUIRE(plane);
  auto generations = dataplane::Generations::open(**plane);
  REQUIRE(generations);
  dataplane::Tables tables = one_way();
  sort_rows(tables);
  REQUIRE(generations->adopt(tables));
  const std::uint32_t underlay = Network::get().underlay.ifindex;
  REQUIRE(::bpf_map_update_elem((*plane)->map_fd("egress_underlay"), &underlay, &underlay, BPF_ANY) == 0);
  const int program = (*plane)->program_fd(config::Role::local);
  std::atomic<bool> seen{false};
  std::atomic<std::uint64_t> dropped{0};
  // Where the CPUs are busy otherwise it takes a while until they meet.
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  const auto ask = [&](std::uint16_t from) {
    for (int i = 0; !seen && std::chrono::steady_clock::now() < end; ++i) {
      const Bytes frame = question(static_cast<std::uint16_t>(from + i % 20'000));
      Bytes out(frame.size() + 256);
      xdp_md context{};
      context.data_end = static_cast<__u32>(frame.size());
      context.ingress_ifindex = Network::get().site.ifindex;
      LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(), .data_out = out.data(),
                  .data_size_in = static_cast<__u32>(frame.size()),
                  .data_size_out = static_cast<__u32>(out.size()), .ctx_in = &context,
                  .ctx_size_in = sizeof context, .repeat = 1);
      if (::bpf_prog_test_run_opts(program, &options) != 0 || options.retval != XDP_DROP) continue;
      ++dropped;
      seen = true;
    }
  };
  std::thread other([&] { ask(40'000); });
  ask(10'000);
  other.join();
  const std::vector<pt_count> drops = read_counts((*plane)->map_fd("drops"), PT_DROP_REASON_COUNT);
  CHECK(dropped > 0);
  CHECK(drops[PT_DROP_FLOW_FULL].packets + drops[PT_DROP_FLOW_BUSY].packets == dropped);
}

TEST_CASE("each rule counts what it let pass, questions and answers") {
  TestGateway gateway(one_way());
  const auto packets_of = [&](pt_protocol protocol) {
    const dataplane::Tables tables = one_way();
    std::uint32_t rule = 0;
    for (const auto& [key, row] : tables.policy) {
      if (key.protocol == protocol) rule = row.rule;
    }
    const auto counts = gateway.generations().rule_counts(rule + 1);
    REQUIRE(counts);
    return (*counts)[rule].packets;
  };
  REQUIRE(gateway.local(question()).end == kOut);
  REQUIRE(gateway.underlay(answer()).end == kIn);
  REQUIRE(gateway.local(ask_echo(8, 1)).end == kOut);
  CHECK(packets_of(PT_PROTO_UDP) == 2);
  CHECK(packets_of(PT_PROTO_ICMP) == 1);
  SUBCASE("a flip with the same rules goes on counting") {
    dataplane::Tables same = one_way();
    same.gateway.serial = 2;
    gateway.adopt(same);
    REQUIRE(gateway.underlay(answer()).end == kIn);
    CHECK(packets_of(PT_PROTO_UDP) == 3);
  }
  SUBCASE("other rules begin at zero") {
    dataplane::Tables other = one_way();
    other.policy.pop_back();
    gateway.adopt(other);
    CHECK(packets_of(PT_PROTO_UDP) == 0);
  }
}

}  // namespace postern::testing
