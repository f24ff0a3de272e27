// SPDX-License-Identifier: Apache-2.0
#include "agent/peers_report.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/ip.h"

using namespace postern;
using namespace postern::agent;

namespace {

pt_address address(const char* text) {
  pt_address raw{};
  const IpAddress parsed = *IpAddress::parse(text);
  std::copy(parsed.bytes.begin(), parsed.bytes.end(), raw.bytes);
  return raw;
}

}  // namespace

TEST_CASE("a peer with two tunnel addresses is one row with both, its segments and its counters") {
  dataplane::Tables tables;
  tables.segments = {{7, pt_segment{}}, {8, pt_segment{}}};
  tables.segments[1].second.index = 65;
  pt_peer shop{};
  shop.segments[1] = 2;  // bit 65
  shop.id = 3;
  shop.state = PT_PEER_REVOKED;
  tables.peers = {{address("192.0.2.1"), shop}, {address("192.0.2.2"), shop}};
  pt_endpoint endpoint{};
  const std::uint8_t mac[] = {2, 0, 0, 0, 0, 9};
  std::copy(std::begin(mac), std::end(mac), endpoint.mac);
  tables.endpoints = {{3, endpoint}};
  const dataplane::Legend legend{{{PeerId(3), "shop"}}, {}, {{7, "blue"}, {8, "green"}}, {}, {}, {}};

  const wire::Json report = peers_report(tables, legend, [](PeerId id) {
    CHECK(id == PeerId(3));
    return pt_peer_count{{1, 100}, {2, 200}, {~std::uint64_t{0}, 0}};
  });
  CHECK(
      wire::encode_canonical(report) ==
      "{\"peers\":[{\"addresses\":[\"192.0.2.1\",\"192.0.2.2\"],"
      "\"dropped\":{\"bytes\":\"0\",\"packets\":\"18446744073709551615\"},\"id\":\"shop\",\"kind\":\"stock\","
      "\"mac\":\"02:00:00:00:00:09\",\"rx\":{\"bytes\":\"100\",\"packets\":\"1\"},\"segments\":[\"green\"],"
      "\"state\":\"revoked\",\"tx\":{\"bytes\":\"200\",\"packets\":\"2\"}}],\"schema\":\"postern/peers/"
      "v1\"}");
}

TEST_CASE("a peer that the legend does not know and that has no MAC is still listed") {
  dataplane::Tables tables;
  pt_peer peer{};
  peer.id = 9;
  peer.kind = PT_PEER_GATEWAY;
  tables.peers = {{address("2001:db8::1"), peer}};
  const wire::Json report = peers_report(tables, {}, [](PeerId) { return pt_peer_count{}; });
  const wire::Json& row = report.find("peers")->as_array()->front();
  CHECK(*row.find("id")->as_string() == "#9");
  CHECK(*row.find("kind")->as_string() == "gateway");
  CHECK(row.find("mac")->is_null());
}
