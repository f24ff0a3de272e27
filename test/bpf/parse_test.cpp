// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kMalformed = drop(PT_DROP_MALFORMED);
const End kFragment = drop(PT_DROP_FRAGMENT);
const End kUnknownHeader = drop(PT_DROP_UNKNOWN_HEADER);
const End kUnsupported = drop(PT_DROP_L4_UNSUPPORTED);

Bytes cut(Bytes bytes, std::size_t length) {
  bytes.resize(length);
  return bytes;
}

// With one byte of the packet set; the IPv4 header checksum is not looked at.
Bytes with(Bytes bytes, std::size_t offset, std::uint8_t value) {
  bytes.at(offset) = value;
  return bytes;
}

Route inward() {
  return {inside(kAlpha), site_host()};
}
Route inward6() {
  return {inside6(kAlpha), site_host6()};
}

PacketCase inner(std::string says, const Bytes& packet, End end) {
  return {std::move(says), Side::underlay, from_peer_packet(kAlpha, packet), end};
}

PacketCase outer(std::string says, const Bytes& packet, End end) {
  return {std::move(says), Side::underlay, on_underlay(packet), end};
}

Bytes with_protocol(const Route& route, std::uint8_t protocol, const Bytes& payload = Bytes(16)) {
  return ip_packet(route, {.protocol = protocol}, payload);
}

void add_outer(std::vector<PacketCase>& cases) {
  const Route route{ip("192.0.2.77"), ip("192.0.2.78")};
  const Bytes packet = udp_packet(route, 1, 2);
  const Bytes good = vxlan_packet({underlay_of(kAlpha), our_underlay()}, 50000, kVni,
                                  inner_frame(kAlpha, tcp_packet(inward(), 40000, 80, kSyn)));
  cases.push_back(outer("an IPv4 header cut short is malformed", cut(packet, 19), kMalformed));
  cases.push_back(outer("a total length beyond the frame is malformed", with(packet, 3, 200), kMalformed));
  cases.push_back(
      outer("a total length below the header is malformed", with(with(packet, 2, 0), 3, 19), kMalformed));
  cases.push_back(outer("a header length below 20 is malformed", with(packet, 0, 0x44), kMalformed));
  cases.push_back({"version 6 under the IPv4 type is malformed", Side::underlay,
                   ethernet(our_mac(), peer_mac(kAlpha), kIpv4, with(packet, 0, 0x65)), kMalformed});
  const Bytes packet6 = udp_packet({ip("2001:db8::1"), ip("2001:db8::2")}, 1, 2);
  cases.push_back({"version 4 under the IPv6 type is malformed", Side::underlay,
                   ethernet(our_mac(), peer_mac(kAlpha), kIpv6, with(packet6, 0, 0x40)), kMalformed});
  cases.push_back(outer("an IPv6 header cut short is malformed", cut(packet6, 39), kMalformed));
  cases.push_back(outer("an IPv6 payload beyond the frame is malformed", with(packet6, 5, 99), kMalformed));
  Bytes mapped = packet6;
  std::ranges::copy(underlay_of(kAlpha).bytes, mapped.begin() + 8);
  cases.push_back(
      outer("a v4-mapped address in an IPv6 header cannot pass for a peer's", mapped, kMalformed));
  mapped = packet6;
  std::ranges::copy(our_underlay().bytes, mapped.begin() + 24);
  cases.push_back(outer("nor for one of ours", mapped, kMalformed));
  cases.push_back(
      {"a tag cut short is malformed", Side::underlay, cut(tagged(on_underlay(packet), 7), 15), kMalformed});
  cases.push_back({"behind a third tag nobody looks", Side::underlay,
                   tagged(tagged(tagged(on_underlay(packet), 1), 2), 3), drop(PT_DROP_VLAN_TAG)});

  cases.push_back(
      outer("a UDP length that differs from the packet's is malformed", with(good, 25, 20), kMalformed));
  cases.push_back(outer("a tunnel packet without room for VXLAN is malformed",
                        udp_packet({underlay_of(kAlpha), our_underlay()}, 50000, PT_VXLAN_PORT, 7),
                        kMalformed));
  Bytes padded = udp_packet({underlay_of(kAlpha), our_underlay()}, 50000, PT_VXLAN_PORT, 7);
  std::copy_n(good.begin() + 28, 7, padded.begin() + 28);
  padded.insert(padded.end(), good.begin() + 35, good.end());
  cases.push_back(outer("nor does the padding behind it make room", padded, kMalformed));
  cases.push_back(outer("a UDP header cut short cannot hide its port",
                        with_protocol({underlay_of(kAlpha), our_underlay()}, 17, Bytes(7)), kMalformed));
  cases.push_back(outer("a first fragment to the tunnel address is dropped", with(good, 6, 0x20), kFragment));
  cases.push_back(outer("a later fragment to the tunnel address is dropped", with(good, 7, 0x10), kFragment));
  cases.push_back(
      outer("fragments of any protocol to the tunnel address are dropped",
            ip_packet({underlay_of(kAlpha), our_underlay()}, {.protocol = 6, .fragment = 0x2000}, Bytes(64)),
            kFragment));
  Bytes datagram(good.begin() + 20, good.end());
  cases.push_back(outer(
      "IPv4 options do not hide a tunnel packet",
      ip_packet({underlay_of(kAlpha), our_underlay()}, {.protocol = 17, .options = Bytes(4, 1)}, datagram),
      kUnknownHeader));
}

void add_inner_ip(std::vector<PacketCase>& cases) {
  const Bytes packet = udp_packet(inward(), 40000, 53);
  const Bytes packet6 = udp_packet(inward6(), 40000, 53);
  cases.push_back(inner("an inner IPv4 header cut short is malformed", cut(packet, 12), kMalformed));
  cases.push_back(
      inner("an inner total length beyond the frame is malformed", with(packet, 3, 250), kMalformed));
  cases.push_back(
      inner("an inner IPv6 payload beyond the frame is malformed", with(packet6, 4, 9), kMalformed));
  cases.push_back({"an inner Ethernet header cut short is malformed", Side::underlay,
                   from_peer(kAlpha, Bytes(9)), kMalformed});
  cases.push_back({"a later fragment from the site is dropped", Side::local,
                   on_site(udp_packet({site_host(), inside(kAlpha)}, 40000, 53, 8, {.fragment = 0x0002})),
                   kFragment});
}

void add_transports(std::vector<PacketCase>& cases) {
  const Bytes segment = tcp(inward(), 40000, 80, kSyn);
  const Bytes datagram = udp(inward(), 40000, 53);
  const auto packet = [](std::uint8_t protocol, const Bytes& payload) {
    return ip_packet(inward(), {.protocol = protocol}, payload);
  };
  cases.push_back(inner("a TCP header cut short is malformed", packet(6, cut(segment, 19)), kMalformed));
  cases.push_back(
      inner("a TCP offset below five words is malformed", packet(6, with(segment, 12, 0x40)), kMalformed));
  cases.push_back(
      inner("a TCP offset beyond the packet is malformed", packet(6, with(segment, 12, 0x60)), kMalformed));
  cases.push_back(inner("a UDP header cut short is malformed", packet(17, cut(datagram, 7)), kMalformed));
  cases.push_back(
      inner("a UDP length below its header is malformed", packet(17, with(datagram, 5, 7)), kMalformed));
  cases.push_back(
      inner("a UDP length beyond the packet is malformed", packet(17, with(datagram, 5, 17)), kMalformed));
  cases.push_back(inner("an ICMP header cut short is malformed", packet(1, Bytes(7)), kMalformed));
  cases.push_back(inner(
      "ports in the padding behind a packet are not read",
      [&] {
        Bytes padded = packet(6, Bytes{});
        padded.insert(padded.end(), segment.begin(), segment.end());
        return padded;
      }(),
      kMalformed));
  for (const std::uint8_t protocol : std::initializer_list<std::uint8_t>{2, 4, 41, 47, 50, 132}) {
    cases.push_back(inner("protocol " + std::to_string(protocol) + " is not carried",
                          with_protocol(inward(), protocol), kUnsupported));
  }
  cases.push_back(inner("ICMPv6 in IPv4 is not carried", with_protocol(inward(), 58), kUnsupported));
  cases.push_back(inner("ICMP in IPv6 is not carried", with_protocol(inward6(), 1), kUnsupported));
  cases.push_back({"GRE from the site is not carried", Side::local,
                   on_site(with_protocol({site_host(), inside(kAlpha)}, 47)), kUnsupported});
}

}  // namespace

std::vector<PacketCase> parse_cases() {
  std::vector<PacketCase> cases;
  add_outer(cases);
  add_inner_ip(cases);
  add_transports(cases);
  return cases;
}

TEST_CASE("headers that are cut, contradictory, fragmented or unknown fail closed with their own reason") {
  run_cases(parse_cases());
}

}  // namespace postern::testing
