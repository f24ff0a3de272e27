// SPDX-License-Identifier: Apache-2.0
#include "mesh/links.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/mesh/simulated_links.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::mesh;
using testing::Node;
using testing::outcome;
using testing::SimulatedNetwork;

namespace {

LinkRow row(Node& node, const std::string& gateway) {
  for (const LinkRow& row : node.links.rows())
    if (row.gateway == gateway) return row;
  return {};
}

bool up(Node& node, const std::string& gateway) {
  return row(node, gateway).state == LinkState::up;
}

IpAddress address(const char* text) {
  return *IpAddress::parse(text);
}

std::size_t lines_with(const Node& node, std::string_view part) {
  return static_cast<std::size_t>(
      std::count_if(node.diary.lines.begin(), node.diary.lines.end(),
                    [&](const auto& line) { return line.find(part) != std::string::npos; }));
}

}  // namespace

TEST_CASE("three gateways link with each other and tell how far they are apart") {
  SimulatedNetwork network(1);
  for (std::uint8_t number = 1; number <= 3; ++number)
    network.add(number, {1, 2, 3});
  network.run_for(5'000);
  for (std::uint8_t number = 1; number <= 3; ++number) {
    for (const LinkRow& seen : network.node(number).links.rows()) {
      CHECK(seen.state == LinkState::up);
      REQUIRE(seen.rtt_ns);
      CHECK(*seen.rtt_ns >= 2 * kMillisecond_ns);
      CHECK(*seen.rtt_ns <= 42 * kMillisecond_ns);
    }
  }
  REQUIRE(network.node(1).links.send("g2", as_bytes("to 2")));
  network.run_for(100);
  REQUIRE(network.node(2).diary.messages.size() == 1);
  CHECK(network.node(2).diary.messages[0] == std::pair<std::string, Bytes>("g1", Bytes{'t', 'o', ' ', '2'}));
  CHECK(network.node(3).diary.messages.empty());
}

TEST_CASE("gateways that connect to each other at once end with one and the same link, whatever the timing") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    SimulatedNetwork network(seed, 1 + seed % 700);
    network.add(1, {1, 2});
    network.add(2, {1, 2});
    network.run_for(20'000);
    const LinkRow one = row(network.node(1), "g2");
    const LinkRow two = row(network.node(2), "g1");
    REQUIRE(one.state == LinkState::up);
    REQUIRE(two.state == LinkState::up);
    CHECK(one.outgoing != two.outgoing);
    CHECK(network.opened() <= 2);  // neither had to try again: both keep the same of the two
    // It is the same connection: what one sends arrives, and the link stands.
    const std::uint64_t ups = one.ups + two.ups;
    REQUIRE(network.node(1).links.send("g2", as_bytes("x")));
    network.run_for(20'000);
    CHECK(network.node(2).diary.messages.size() == 1);
    CHECK(row(network.node(1), "g2").ups + row(network.node(2), "g1").ups == ups);
    CHECK(network.node(1).links.half_open() + network.node(2).links.half_open() == 0);
  }
}

TEST_CASE("a gateway that restarts is linked again in the same row") {
  SimulatedNetwork network(2);
  network.add(1, {1, 2});
  network.add(2, {1, 2});
  network.run_for(3'000);
  REQUIRE(up(network.node(1), "g2"));
  network.remove(2);
  network.run_for(200);
  CHECK_FALSE(up(network.node(1), "g2"));
  CHECK(outcome(network.node(1).links.send("g2", as_bytes("x"))) == "link.down");
  network.add(2, {1, 2}, 2);
  network.run_for(5'000);
  CHECK(up(network.node(1), "g2"));
  CHECK(network.node(1).links.rows().size() == 1);
  CHECK(row(network.node(1), "g2").incarnation[1] == 2);
  CHECK_FALSE(row(network.node(1), "g2").twin);
}

TEST_CASE("a restart that only one side noticed takes the row over at once") {
  SimulatedNetwork network(3);
  network.add(1, {1, 2});
  network.add(2, {1, 2});
  network.run_for(3'000);
  network.remove(2, true);
  network.run_for(100);
  REQUIRE(up(network.node(1), "g2"));
  network.add(2, {1, 2}, 2);
  network.run_for(4'000);
  CHECK(up(network.node(1), "g2"));
  CHECK(row(network.node(1), "g2").incarnation[1] == 2);
}

TEST_CASE("a link that is cut without a word is given up and comes back") {
  SimulatedNetwork network(4);
  network.add(1, {1, 2});
  network.add(2, {1, 2});
  network.run_for(3'000);
  network.cut(1, 2);
  network.run_for(10'000);
  CHECK_FALSE(up(network.node(1), "g2"));
  CHECK_FALSE(up(network.node(2), "g1"));
  CHECK(lines_with(network.node(1), "silent for 7 s") == 1);
  network.cut(1, 2, false);
  network.run_for(40'000);
  CHECK(up(network.node(1), "g2"));
  CHECK(up(network.node(2), "g1"));
}

TEST_CASE("a gateway that a snapshot removes is cut off when it is served, and is refused from then on") {
  SimulatedNetwork network(5);
  network.add(1, {1, 2, 3});
  network.add(2, {1, 2, 3});
  network.add(3, {1, 2, 3});
  network.run_for(3'000);
  Node& node = network.node(1);
  REQUIRE(up(node, "g3"));
  node.links.set_members(Members(testing::snapshot_of({1, 2})), network.now_ns);
  CHECK(node.links.rows().size() == 1);
  CHECK(up(node, "g2"));
  CHECK(lines_with(node, "down g3") == 1);
  const std::uint64_t before = node.links.refusals().of(Refusal::untrusted);
  CHECK(before == 1);
  network.run_for(100);  // before it could try again
  CHECK(row(network.node(3), "g1").refused_us == Refusal::untrusted);
  CHECK(node.links.refusals().of(Refusal::untrusted) == before);
  network.run_for(20'000);
  CHECK(node.links.refusals().of(Refusal::untrusted) > before);
  CHECK(row(network.node(3), "g1").state != LinkState::up);
  CHECK(row(network.node(3), "g1").refused_us == Refusal::untrusted);
  CHECK(lines_with(node, "up g3") == 1);
}

TEST_CASE("a gateway that is not in the served snapshot itself has no links") {
  SimulatedNetwork network(6);
  network.add(1, {1, 2});
  network.add(2, {1, 2});
  network.run_for(3'000);
  network.node(1).links.set_members(Members(testing::snapshot_of({2})), network.now_ns);
  CHECK(network.node(1).links.rows().empty());
  network.run_for(5'000);
  CHECK_FALSE(up(network.node(2), "g1"));
}

TEST_CASE("two processes with one gateway's key are refused by its peers, and said") {
  SimulatedNetwork network(7);
  network.add(1, {1, 2});
  network.add(2, {1, 2}, 1);
  network.run_for(3'000);
  REQUIRE(up(network.node(1), "g2"));
  // Another process takes the row over, then the first one comes back: it never ended.
  network.remove(2);
  network.add(2, {1, 2}, 2);
  network.run_for(3'000);
  REQUIRE(up(network.node(1), "g2"));
  CHECK_FALSE(row(network.node(1), "g2").twin);
  network.remove(2);
  network.add(2, {1, 2}, 1);
  network.run_for(5'000);
  CHECK_FALSE(up(network.node(1), "g2"));
  CHECK(row(network.node(1), "g2").twin);
  CHECK(network.node(1).links.refusals().of(Refusal::replay) >= 1);
  CHECK(row(network.node(2), "g1").twin);
}

TEST_CASE("strangers that connect and say nothing are bounded, dropped, and keep no gateway out") {
  SimulatedNetwork network(8);
  network.add(1, {1, 2});
  for (int i = 0; i < 300; ++i)
    network.connect_to(1, address(("198.51.100." + std::to_string(1 + i % 250)).c_str()));
  network.run_for(50);
  Node& node = network.node(1);
  CHECK(node.links.half_open() <= kMaxHalfOpen);
  CHECK(node.links.refusals().of(Refusal::capacity) >= 300 - kMaxHalfOpen);
  network.add(2, {1, 2});
  network.run_for(3'000);
  CHECK(up(node, "g2"));
  network.run_for(4'000);
  CHECK(node.links.half_open() == 0);
  CHECK(node.links.timeouts() >= 1);
  CHECK(up(node, "g2"));
}

TEST_CASE("one address gets few connections that are no links, a gateway's too") {
  SimulatedNetwork network(9);
  network.add(1, {1, 2});
  for (int i = 0; i < 10; ++i)
    network.connect_to(1, address("192.0.2.2"));
  network.run_for(50);
  CHECK(network.node(1).links.half_open() == kMaxHalfOpenOfAddress);
  CHECK(network.node(1).links.refusals().of(Refusal::capacity) == 10 - kMaxHalfOpenOfAddress);
}

TEST_CASE("garbage is refused and counted, and other links do not notice") {
  SimulatedNetwork network(10);
  network.add(1, {1, 2});
  network.add(2, {1, 2});
  network.run_for(3'000);
  const ConnectionId id = network.connect_to(1, address("198.51.100.1"));
  network.run_for(50);
  network.send_as_client(id, Bytes(5000, 0xee));
  network.run_for(100);
  CHECK(network.node(1).links.refusals().of(Refusal::malformed) == 1);
  CHECK(up(network.node(1), "g2"));
}

TEST_CASE("what a peer does not take is bounded, and there is room again when it does") {
  SimulatedNetwork network(11);
  network.add(1, {1, 2});
  network.add(2, {1, 2});
  network.run_for(3'000);
  Node& node = network.node(1);
  const Bytes message(kMaxMessagePayload);
  std::string last;
  for (int i = 0; i < 5 && last.empty(); ++i)
    if (const Result<> sent = node.links.send("g2", message); !sent) last = outcome(sent);
  CHECK(last == "link.full");
  CHECK(row(node, "g2").queued_bytes <= kMaxQueuedBytes + kMaxLinkMessage / 100);
  CHECK(outcome(node.links.send("g2", Bytes(kMaxMessagePayload + 1))) == "link.oversized");
  network.run_for(500);
  CHECK(lines_with(node, "room g2") >= 1);
  CHECK(node.links.send("g2", message));
  network.run_for(500);
  CHECK(network.node(2).diary.messages.size() >= 2);
}

TEST_CASE("what a message leads to may end all links while it is delivered") {
  SimulatedNetwork network(12);
  network.add(1, {1, 2});
  network.add(2, {1, 2});
  network.run_for(3'000);
  Node& node = network.node(2);
  node.diary.act = [&] { node.links.set_members(Members(), network.now_ns); };
  REQUIRE(network.node(1).links.send("g2", as_bytes("a snapshot without you")));
  REQUIRE(network.node(1).links.send("g2", as_bytes("more")));
  network.run_for(1'000);
  CHECK(node.links.rows().empty());
  CHECK(node.diary.messages.size() == 1);
}

TEST_CASE("a gateway that stops says so, and its peers do not wait for silence") {
  SimulatedNetwork network(13);
  network.add(1, {1, 2});
  network.add(2, {1, 2});
  network.run_for(3'000);
  network.node(2).links.stop(network.now_ns);
  network.run_for(100);
  CHECK(lines_with(network.node(1), "the other side stops") == 1);
}

TEST_CASE("a gateway that is down is tried more and more seldom") {
  SimulatedNetwork network(14);
  network.add(1, {1, 2});
  network.run_for(2'000);
  CHECK(row(network.node(1), "g2").state != LinkState::up);
  CHECK(row(network.node(1), "g2").trouble == "connection refused");
  // After a minute of failures the next try is up to half a minute away.
  network.run_for(60'000);
  network.add(2, {1}, 1);  // knows nobody, so only gateway 1's tries show
  network.run_for(30'000);
  CHECK(network.node(2).links.refusals().of(Refusal::untrusted) <= 3);
}

TEST_CASE("every refusal has a label of its own, and a number that leads back to it") {
  std::vector<std::string> labels;
  for (const Refusal refusal : kRefusals) {
    labels.emplace_back(refusal_label(refusal));
    CHECK(refusal_of(static_cast<std::uint8_t>(refusal)) == refusal);
  }
  CHECK(labels == std::vector<std::string>{"malformed", "oversized", "signature", "replay",
                                           "protocol_unsupported", "self_link", "mesh_mismatch", "untrusted",
                                           "capacity", "unknown_link"});
  CHECK_FALSE(refusal_of(0));
  CHECK_FALSE(refusal_of(11));
}
