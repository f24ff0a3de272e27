// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kIn = verdict(PT_VERDICT_DECAPSULATED);
const End kOut = verdict(PT_VERDICT_ENCAPSULATED);
const End kDenied = drop(PT_DROP_POLICY_DENIED);

Route inward() {
  return {inside(kAlpha), site_host()};
}
Route outward() {
  return {site_host(), inside(kAlpha)};
}

PacketCase in(std::string says, const Bytes& packet, End end) {
  return {std::move(says), Side::underlay, from_peer_packet(kAlpha, packet), end};
}
PacketCase out(std::string says, const Bytes& packet, End end) {
  return {std::move(says), Side::local, on_site(packet), end};
}

}  // namespace

std::vector<PacketCase> policy_cases() {
  return {
      in("an allowed TCP port passes", tcp_packet(inward(), 40000, 80, kSyn), kIn),
      in("a port without a rule is denied", tcp_packet(inward(), 40000, 81, kSyn), kDenied),
      in("a TCP rule allows no UDP", udp_packet(inward(), 40000, 80), kDenied),
      in("an allowed UDP port passes", udp_packet(inward(), 40000, 53), kIn),
      in("a UDP reply needs a rule of its own", udp_packet(inward(), 53, 40000), kDenied),
      in("an allowed ICMP type passes", icmp_packet(inward(), 8, 0), kIn),
      in("another ICMP code is denied", icmp_packet(inward(), 8, 1), kDenied),
      in("another ICMP type is denied", icmp_packet(inward(), 13, 0), kDenied),
      in("an allowed ICMPv6 type passes", icmp_packet({inside6(kAlpha), site_host6()}, 128, 0), kIn),
      in("another ICMPv6 type is denied", icmp_packet({inside6(kAlpha), site_host6()}, 130, 0), kDenied),
      out("a rule works in its direction", tcp_packet(outward(), 40000, 8080, kSyn), kOut),
      in("and not in the other", tcp_packet(inward(), 40000, 8080, kSyn), kDenied),
      in("a TCP reply with ACK passes by the reverse rule", tcp_packet(inward(), 8080, 40000, kSyn | kAck),
         kIn),
      in("a TCP reply with RST passes by the reverse rule", tcp_packet(inward(), 8080, 40000, kRst), kIn),
      in("a SYN from a server's port is no reply", tcp_packet(inward(), 8080, 40000, kSyn), kDenied),
      in("an ACK from a port without a rule is denied", tcp_packet(inward(), 8081, 40000, kAck), kDenied),
      out("a strict rule works in its direction", tcp_packet(outward(), 40000, 443, kSyn), kOut),
      in("a strict rule lets no reply back", tcp_packet(inward(), 443, 40000, kAck), kDenied),
      out("the site is bound by the rules too", tcp_packet(outward(), 40000, 22, kSyn), kDenied),
      {"between peers rules hold as well", Side::underlay,
       from_peer_packet(kAlpha, tcp_packet({inside(kAlpha), inside(kBeta)}, 40000, 22, kSyn)), kDenied},
      {"without a single rule nothing passes", Side::underlay,
       from_peer_packet(kAlpha, tcp_packet(inward(), 40000, 80, kSyn)), kDenied,
       [](dataplane::Tables& tables) { tables.policy.clear(); }},
  };
}

TEST_CASE("what no rule allows is denied, and replies pass only where a rule says so") {
  run_cases(policy_cases());
}

}  // namespace postern::testing
