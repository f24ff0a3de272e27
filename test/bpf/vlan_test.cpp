// SPDX-License-Identifier: Apache-2.0
// VLANs of a site's interface (SPEC 1.20). VLAN 30 of l0 is in segment 100, VLAN 40 in segment 200. Two veths
// stand in for the devices that Linux has for them: the program knows these by number alone.
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

constexpr std::uint16_t kBlue = 30;
constexpr std::uint16_t kRed = 40;
constexpr std::uint16_t kPriority5 = 5 << 13;
constexpr std::uint16_t kSlot = 2;

const End kPass = verdict(PT_VERDICT_PASS);
const End kIntoTunnel = verdict(PT_VERDICT_ENCAPSULATED);

IpAddress blue_host() {
  return ip("10.1.30.10");
}

void add_vlan(dataplane::Tables& tables, std::uint16_t vlan, const Interface& device, std::uint32_t vni) {
  pt_port port{};
  port.vni = vni;
  port.slot = kSlot;
  port.role = PT_ROLE_LOCAL;
  port.mtu = 1500;
  port.device = device.ifindex;
  port.carrier = Network::get().site.ifindex;
  port.vlan = vlan;
  std::ranges::copy(device.mac.bytes, port.mac);
  tables.ports.push_back({{device.ifindex, 0, 0}, port});
  tables.ports.push_back({{port.carrier, vlan, 0}, port});
}

void add_vlans(dataplane::Tables& tables) {
  add_vlan(tables, kBlue, Network::get().blue, kVni);
  add_vlan(tables, kRed, Network::get().red, kOtherVni);
}

void add_vlans_alone(dataplane::Tables& tables) {
  add_vlans(tables);
  for (auto& [key, port] : tables.ports) {
    if (key.ifindex == Network::get().site.ifindex && key.vlan == 0) port.role = PT_ROLE_CARRIER;
  }
}

dataplane::Tables vlan_tables() {
  dataplane::Tables tables = mesh_tables();
  add_vlans(tables);
  return tables;
}

Bytes syn(const IpAddress& from, const IpAddress& to, const IpFields& fields = {}) {
  return tcp_packet({from, to}, 40000, 80, kSyn, fields);
}

Bytes from_blue(const Bytes& packet) {
  return ethernet(Network::get().blue.mac, Network::get().host, packet);
}

PacketCase in_vlan(std::string says, const Bytes& frame, End end) {
  return {std::move(says), Side::local, frame, end, add_vlans};
}

}  // namespace

std::vector<PacketCase> vlan_cases() {
  const Bytes asking = from_blue(syn(blue_host(), inside(kAlpha)));
  Bytes cut = tagged(asking, kBlue);
  cut.resize(18);
  return {
      in_vlan("a VLAN's host reaches the mesh", tagged(asking, kBlue), kIntoTunnel),
      in_vlan("a tag's priority is not part of its VLAN", tagged(asking, kPriority5 | kBlue), kIntoTunnel),
      in_vlan("the same packet in another VLAN is another segment's", tagged(asking, kRed), kPass),
      in_vlan("a VLAN that is not configured is nobody's", tagged(asking, 31), drop(PT_DROP_VLAN_TAG)),
      in_vlan("a second tag is refused behind a known one", tagged(tagged(asking, 5), kBlue),
              drop(PT_DROP_VLAN_TAG)),
      in_vlan("a provider's tag is no VLAN of ours", tagged(asking, kBlue, 0x88a8), drop(PT_DROP_VLAN_TAG)),
      in_vlan("a priority tag is as none", tagged(on_site(syn(site_host(), inside(kAlpha))), kPriority5),
              kIntoTunnel),
      in_vlan("a tag that says nothing at all is as none",
              tagged(on_site(syn(site_host(), inside(kAlpha))), 0), kIntoTunnel),
      in_vlan("without a tag the interface's own segment holds", on_site(syn(site_host(), inside(kAlpha))),
              kIntoTunnel),
      in_vlan("a VLAN's host may not borrow a mesh address",
              tagged(from_blue(syn(inside(kAlpha), inside(kBeta))), kBlue), drop(PT_DROP_SOURCE_DENIED)),
      in_vlan("ARP of a VLAN goes to the host",
              tagged(ethernet(mac("ff:ff:ff:ff:ff:ff"), Network::get().host, kArp, Bytes(28)), kBlue), kPass),
      in_vlan("from one VLAN's host to another of the segment",
              tagged(from_blue(syn(blue_host(), site_host())), kBlue), verdict(PT_VERDICT_ROUTED)),
      in_vlan("a tagged frame that ends in its tag is malformed", cut, drop(PT_DROP_MALFORMED)),
      {"without a tag, where VLANs alone are configured", Side::local,
       on_site(syn(site_host(), inside(kAlpha))), drop(PT_DROP_VLAN_MISSING), add_vlans_alone},
      {"with no more than a priority, where VLANs alone are configured", Side::local,
       tagged(on_site(syn(site_host(), inside(kAlpha))), kPriority5), drop(PT_DROP_VLAN_MISSING),
       add_vlans_alone},
      {"a VLAN of an interface that is none itself", Side::local, tagged(asking, kBlue), kIntoTunnel,
       add_vlans_alone},
      {"out of a tunnel into a VLAN", Side::underlay,
       from_peer_packet(kAlpha, syn(inside(kAlpha), blue_host())), verdict(PT_VERDICT_DECAPSULATED),
       add_vlans},
      {"not out of a tunnel into another segment's VLAN", Side::underlay,
       from_peer_packet(kAlpha, syn(inside(kAlpha), ip("10.1.40.10"))), drop(PT_DROP_EGRESS_NOT_ALLOWED),
       add_vlans},
      {"a route by a VLAN's device that is not configured leads nowhere", Side::underlay,
       from_peer_packet(kAlpha, syn(inside(kAlpha), blue_host())), drop(PT_DROP_EGRESS_NOT_ALLOWED)},
  };
}

TEST_CASE("a site's frames are in the segment of their VLAN, and in none without one") {
  run_cases(vlan_cases());
}

TEST_CASE("a VLAN's frame enters a tunnel without its tag") {
  const TestGateway gateway(vlan_tables());
  const Run run = gateway.local(tagged(from_blue(syn(blue_host(), inside(kAlpha), {.ttl = 9})), kBlue));
  REQUIRE(run.end == kIntoTunnel);
  const std::uint16_t port = static_cast<std::uint16_t>(run.out.at(34) << 8 | run.out.at(35));
  CHECK(to_hex(run.out) ==
        to_hex(encapsulated_packet(kAlpha, syn(blue_host(), inside(kAlpha), {.ttl = 8}), port)));
}

TEST_CASE("what leaves into a VLAN has its tag, wherever it came from") {
  const TestGateway gateway(vlan_tables());
  const auto in_blue = [](const Bytes& packet) {
    return to_hex(tagged(ethernet(Network::get().host, Network::get().blue.mac, packet), kBlue));
  };
  const Run tunnelled =
      gateway.underlay(from_peer_packet(kAlpha, syn(inside(kAlpha), blue_host(), {.ttl = 9})));
  CHECK(to_hex(tunnelled.out) == in_blue(syn(inside(kAlpha), blue_host(), {.ttl = 8})));
  const Run routed = gateway.local(on_site(syn(site_host(), blue_host(), {.ttl = 9})));
  CHECK(to_hex(routed.out) == in_blue(syn(site_host(), blue_host(), {.ttl = 8})));
}

TEST_CASE("what leaves a VLAN for an interface without one has no tag") {
  const TestGateway gateway(vlan_tables());
  const Run routed = gateway.local(tagged(from_blue(syn(blue_host(), site_host(), {.ttl = 9})), kBlue));
  REQUIRE(routed.end == verdict(PT_VERDICT_ROUTED));
  CHECK(to_hex(routed.out) == to_hex(delivered(syn(blue_host(), site_host(), {.ttl = 8}))));
}

TEST_CASE("the host's stack gets a VLAN's frame with the tag that it came with") {
  const TestGateway gateway(vlan_tables());
  const Bytes frame = tagged(from_blue(syn(blue_host(), ip("10.1.0.1"))), kPriority5 | kBlue);
  const Run run = gateway.local(frame);
  CHECK(run.end == kPass);
  CHECK(to_hex(run.out) == to_hex(frame));
}

TEST_CASE("an ICMP error goes back in the VLAN that the packet came by") {
  const TestGateway gateway(vlan_tables());
  const Run run = gateway.local(tagged(from_blue(syn(blue_host(), inside(kAlpha), {.ttl = 1})), kBlue));
  REQUIRE(run.end == refused(PT_DROP_TTL_EXCEEDED));
  REQUIRE(run.out.size() > 18);
  CHECK(to_hex(Bytes(run.out.begin(), run.out.begin() + 6)) ==
        to_hex(Bytes(Network::get().host.bytes.begin(), Network::get().host.bytes.end())));
  CHECK(to_hex(Bytes(run.out.begin() + 12, run.out.begin() + 18)) == "8100001e0800");
}

TEST_CASE("a frame without room for its VLAN's tag in front is a counted drop") {
  const TestGateway gateway(vlan_tables());
  const Bytes frame = on_site(syn(site_host(), blue_host()));
  const std::uint32_t site = Network::get().site.ifindex;
  CHECK(gateway.run(Side::local, frame, site, 32).end == verdict(PT_VERDICT_ROUTED));
  if (!gateway.can_take(216)) {
    MESSAGE("this kernel's test runs cannot take so much headroom; not tested");
    return;
  }
  CHECK(gateway.run(Side::local, frame, site, 216).end == drop(PT_DROP_NO_HEADROOM));
}

}  // namespace postern::testing
