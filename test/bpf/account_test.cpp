// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>

#include "packet_case.h"

namespace postern::testing {
namespace {

Bytes inward() {
  return from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), site_host()}, 40000, 80, kSyn));
}
Bytes outward() {
  return on_site(tcp_packet({site_host(), inside(kAlpha)}, 40000, 80, kSyn));
}

// Ends that need more than a packet and tables, and the tests that provoke them.
const std::set<int> kProvokedElsewhere = {
    -PT_DROP_TABLE_MISSING,  // "a missing table drops what needs it"
    -PT_DROP_PORT_UNKNOWN,   // "an interface that the generation does not know is closed"
    -PT_DROP_CONGESTION,     // "congestion marks of the tunnel reach the packet inside..."
    -PT_DROP_NOT_LINEAR,     // "headers behind a frame's first buffer are read there"
    -PT_DROP_NOT_HOLDER,     // "a resource is its holder's alone"
    -PT_DROP_LEASE_EXPIRED,  // "a holder stops at its deadline, whoever is alive"
    -PT_DROP_STALE_EPOCH,   // "a raised fence takes a resource away, and the next flip does not give it back"
    -PT_DROP_FUTURE_EPOCH,  // "an epoch above the fence is refused and wakes the agent once"
    -PT_DROP_FLOW_FULL,     // "a flow that cannot be remembered is dropped and counted, never let through"
    -PT_DROP_FLOW_BUSY,     // the same
    -PT_DROP_RATE_EXCEEDED,  // "a peer gets its burst and not a packet more"
    -PT_DROP_GUARDED,        // "a guarded port is reached by admitted peers alone"
    -PT_DROP_NO_BACKEND,     // "a service has one door"
    -PT_DROP_NO_HEADROOM,    // "a frame without room for tunnel headers in front is a counted drop"
};

}  // namespace

TEST_CASE("every verdict and every drop reason is provoked by a case") {
  std::set<int> provoked = kProvokedElsewhere;
  for (const PacketCase& one : all_cases()) {
    provoked.insert(one.end.code);
    if (one.end.told) provoked.insert(PT_VERDICT_REFUSED);
  }
#define PT_X(number, name, label, help) \
  if ((number) != PT_VERDICT_DROP) CHECK_MESSAGE(provoked.contains(number), "no case for verdict " label);
  PT_VERDICTS(PT_X)
#undef PT_X
#define PT_X(number, name, label, help) \
  CHECK_MESSAGE(provoked.contains(-(number)), "no case for reason " label);
  PT_DROP_REASONS(PT_X)
#undef PT_X
}

TEST_CASE("a missing table drops what needs it") {
  const std::pair<std::string_view, bool> tables[] = {{"ports", true},   {"segments", true},
                                                      {"peers", false},  {"endpoints", true},
                                                      {"owners4", true}, {"policy", true}};
  for (const auto& one : tables) {
    const std::string_view table = one.first;
    const bool local_too = one.second;
    CAPTURE(table);
    TestGateway gateway(mesh_tables());
    gateway.remove_inner(table);
    const Bytes relayed =
        from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), inside(kBeta)}, 40000, 80, kSyn));
    CHECK(gateway.underlay(relayed).end.text() == drop(PT_DROP_TABLE_MISSING).text());
    if (local_too) CHECK(gateway.local(outward()).end.text() == drop(PT_DROP_TABLE_MISSING).text());
  }
  TestGateway gateway(mesh_tables());
  gateway.remove_inner("owners6");
  const Bytes packet = tcp_packet({inside6(kAlpha), site_host6()}, 40000, 80, kSyn);
  CHECK(gateway.underlay(from_peer_packet(kAlpha, packet)).end == drop(PT_DROP_TABLE_MISSING));
  CHECK(gateway.underlay(on_underlay(packet)).end == drop(PT_DROP_TABLE_MISSING));
}

TEST_CASE("an interface that the generation does not know is closed") {
  const TestGateway gateway(mesh_tables());
  const Network& network = Network::get();
  const End unknown = drop(PT_DROP_PORT_UNKNOWN);
  CHECK(gateway.run(Side::underlay, inward(), network.stray.ifindex).end == unknown);
  CHECK(gateway.run(Side::local, outward(), network.stray.ifindex).end == unknown);
  CHECK(gateway.run(Side::underlay, inward(), network.site.ifindex).end == unknown);
  CHECK(gateway.run(Side::local, outward(), network.underlay.ifindex).end == unknown);
  const std::vector<pt_count> verdicts =
      read_counts(gateway.plane().map_fd("verdicts"), PT_PORT_SLOTS * PT_VERDICT_COUNT);
  CHECK(verdicts[PT_PORT_SLOT_UNKNOWN * PT_VERDICT_COUNT + PT_VERDICT_DROP].packets == 4);
}

TEST_CASE("each port's verdicts are counted in its own slot") {
  const TestGateway gateway(mesh_tables());
  gateway.underlay(inward());
  gateway.local(outward());
  gateway.local(outward());
  const std::vector<pt_count> verdicts =
      read_counts(gateway.plane().map_fd("verdicts"), PT_PORT_SLOTS * PT_VERDICT_COUNT);
  CHECK(verdicts[0 * PT_VERDICT_COUNT + PT_VERDICT_DECAPSULATED].packets == 1);
  CHECK(verdicts[1 * PT_VERDICT_COUNT + PT_VERDICT_ENCAPSULATED].packets == 2);
  CHECK(verdicts[1 * PT_VERDICT_COUNT + PT_VERDICT_ENCAPSULATED].bytes == 2 * outward().size());
}

TEST_CASE("a peer's row tells what it sent, what it got and what was refused") {
  const TestGateway gateway(mesh_tables());
  gateway.underlay(inward());
  gateway.local(outward());
  const Bytes denied = from_peer_packet(kAlpha, tcp_packet({inside(kBeta), site_host()}, 40000, 80, kSyn));
  gateway.underlay(denied);
  const pt_peer_count count = gateway.peer_count(kAlpha);
  CHECK(count.rx.packets == 1);
  CHECK(count.rx.bytes == inward().size());
  CHECK(count.tx.packets == 1);
  CHECK(count.tx.bytes == outward().size() + 50);
  CHECK(count.dropped.packets == 1);
  CHECK(count.dropped.bytes == denied.size());
}

}  // namespace postern::testing
