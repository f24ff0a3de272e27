// SPDX-License-Identifier: Apache-2.0
#include "agent/asked_packet.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/frame.h"
#include "support/small_tables.h"

using namespace postern;
using namespace postern::agent;
using wire::Json;

namespace {

const MacAddress kPort = *MacAddress::parse("02:00:00:00:00:07");

constexpr const char* kOwned = "10.1.0.0";  // by the peer of small_tables()

dataplane::Legend legend() {
  return {{{PeerId(5), "shop"}}, {}, {{100, "blue"}}, {}, {}, {}};
}

Json question(const char* source = "10.1.0.7", const char* protocol = "tcp") {
  return Json::object(
      {{"source", source}, {"destination", "10.2.0.9"}, {"protocol", protocol}, {"destination_port", 443}});
}

Result<Bytes> frame_for(const Json& packet, config::Role role = config::Role::underlay) {
  Result<AskedPacket> asked = read_asked_packet(packet);
  if (!asked) return tl::unexpected(asked.error());
  return frame_of(*asked, {role, kPort}, testing::small_tables(1), legend());
}

}  // namespace

TEST_CASE("a described packet of a VLAN has its tag") {
  Result<AskedPacket> asked = read_asked_packet(question());
  REQUIRE(asked);
  const dataplane::Tables tables = testing::small_tables(1);
  const Result<Bytes> plain = frame_of(*asked, {config::Role::local, kPort}, tables, legend());
  const Result<Bytes> in_vlan = frame_of(*asked, {config::Role::local, kPort, 300}, tables, legend());
  REQUIRE(plain);
  REQUIRE(in_vlan);
  CHECK(*in_vlan == testing::tagged(*plain, 300));
}

TEST_CASE("a described packet is the one that a test's own builder makes") {
  const Result<Bytes> frame = frame_for(question(), config::Role::local);
  REQUIRE(frame);
  const testing::Route route{testing::ip("10.1.0.7"), testing::ip("10.2.0.9")};
  const Bytes packet(frame->begin() + 14, frame->end());
  CHECK(testing::internet_sum(ByteView(packet).first(20)) == 0xffff);
  CHECK(packet.size() == 40);
  CHECK(testing::load_be16(packet, 22) == 443);
  CHECK(packet[33] == 0x02);
  CHECK(std::equal(kPort.bytes.begin(), kPort.bytes.end(), frame->begin()));
  const Result<Bytes> datagram = frame_for(question("10.1.0.7", "udp"), config::Role::local);
  REQUIRE(datagram);
  Bytes expected = testing::udp_packet(route, 40000, 443, 0, {.fragment = 0x4000});
  CHECK((Bytes(datagram->begin() + 14, datagram->end()) == expected));
}

TEST_CASE("on the underlay it comes in the tunnel of the peer that owns the source") {
  const Result<Bytes> frame = frame_for(question(kOwned));
  REQUIRE(frame);
  CHECK(frame->size() == 14 + 20 + 8 + 8 + 14 + 40);
  const ByteView outer = ByteView(*frame).subspan(14);
  CHECK(std::equal(outer.begin() + 12, outer.begin() + 20, Bytes{192, 0, 2, 2, 192, 0, 2, 1}.begin()));
  CHECK(testing::load_be16(outer, 22) == PT_VXLAN_PORT);
  CHECK(outer[28] == 0x08);
  CHECK(outer[34] == 100);
  const Result<Bytes> other = frame_for(question(kOwned).set("from", "198.51.100.9").set("vni", 77));
  REQUIRE(other);
  CHECK((*other)[14 + 12] == 198);
  CHECK((*other)[14 + 34] == 77);
  const Result<Bytes> plain = frame_for(question(kOwned).set("plain", true));
  REQUIRE(plain);
  CHECK(plain->size() == 54);
}

TEST_CASE("a description that says too little or nonsense is refused by the member that is wrong") {
  const auto refused = [](const Json& packet, const char* words) {
    const Result<Bytes> frame = frame_for(packet);
    REQUIRE_FALSE(frame);
    CHECK_MESSAGE(frame.error().context.find(words) != std::string::npos, frame.error().context);
  };
  refused(question("10.99.0.1"), "from");
  refused(question().set("peer", "nobody"), "nobody");
  refused(question().set("segment", "red"), "red");
  refused(question("nonsense"), "source");
  refused(question("fd00::1"), "family");
  refused(question("10.1.0.7", "sctpx"), "protocol");
  refused(question("10.1.0.7", "256"), "protocol");
  refused(question().set("tcp_flags", "syn,what"), "tcp_flags");
  refused(question().set("destination_port", 65536), "destination_port");
  refused(question().set("colour", 1), "colour");
}
