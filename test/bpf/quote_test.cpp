// SPDX-License-Identifier: Apache-2.0
// ICMP errors are judged by the packet that they quote (SPEC 1.5).
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kIn = verdict(PT_VERDICT_DECAPSULATED);
const End kOut = verdict(PT_VERDICT_ENCAPSULATED);
const End kQuote = drop(PT_DROP_ICMP_QUOTE);

constexpr std::uint8_t kUnreachable = 3;
constexpr std::uint8_t kTooBig6 = 2;

// Four bytes of the error's own, then the start of the packet that it is about.
Bytes quoting(const Bytes& packet, std::size_t bytes) {
  Bytes rest(4);
  rest.insert(rest.end(), packet.begin(),
              packet.begin() + static_cast<std::ptrdiff_t>(std::min(bytes, packet.size())));
  return rest;
}

Bytes error4(const IpAddress& from, const IpAddress& to, const Bytes& about, std::size_t bytes = 28,
             std::uint8_t type = kUnreachable) {
  return icmp_packet({from, to}, type, 4, quoting(about, bytes));
}
Bytes error6(const IpAddress& from, const IpAddress& to, const Bytes& about, std::size_t bytes = 48) {
  return icmp_packet({from, to}, kTooBig6, 0, quoting(about, bytes));
}

Bytes sent(std::uint16_t port = 80, const IpAddress& to = inside(kAlpha)) {
  return tcp_packet({site_host(), to}, 40000, port, kSyn);
}
Bytes sent6() {
  return tcp_packet({site_host6(), inside6(kAlpha)}, 40000, 80, kSyn);
}

PacketCase in(std::string says, const Bytes& packet, End end) {
  return {std::move(says), Side::underlay, from_peer_packet(kAlpha, packet), end};
}
PacketCase out(std::string says, const Bytes& packet, End end) {
  return {std::move(says), Side::local, on_site(packet), end};
}

void add_from_peers(std::vector<PacketCase>& cases) {
  const IpAddress router = ip("172.30.0.1");
  const IpAddress router6 = ip("2001:db8:77::1");
  cases.push_back(in("an error about a packet that a rule let go comes back without a rule of its own",
                     error4(inside(kAlpha), site_host(), sent()), kIn));
  cases.push_back(in("so does one from a router that nobody owns", error4(router, site_host(), sent()), kIn));
  cases.push_back(in("and one over IPv6", error6(router6, site_host6(), sent6()), kIn));
  cases.push_back(in("and a time exceeded", error4(router, site_host(), sent(), 28, 11), kIn));
  cases.push_back(
      in("an error about a reply comes back by the rule of the question",
         error4(router, ip("10.1.0.10"), tcp_packet({site_host(), inside(kAlpha)}, 80, 40000, kAck)), kIn));
  cases.push_back(in("an error from another peer's address is denied",
                     error4(inside(kBeta), site_host(), sent()), drop(PT_DROP_SOURCE_DENIED)));
  cases.push_back(in("an error from the site's own address is denied",
                     error4(site_host(), site_host(), sent()), drop(PT_DROP_SOURCE_DENIED)));
  cases.push_back(in("an error about a packet to another peer is refused",
                     error4(router, site_host(), sent(80, inside(kBeta))), kQuote));
  cases.push_back(
      in("an error about another's packet is refused", error4(router, ip("10.1.0.11"), sent()), kQuote));
  cases.push_back(in("an error about a packet that no rule let go is denied",
                     error4(router, site_host(), sent(81)), drop(PT_DROP_POLICY_DENIED)));
  cases.push_back(in("an error that quotes less than eight bytes of transport is refused",
                     error4(router, site_host(), sent(), 27), kQuote));
  cases.push_back(in("an error that quotes nothing is refused", error4(router, site_host(), {}), kQuote));
  cases.push_back(in("an error about an error is refused",
                     error4(router, site_host(), error4(site_host(), inside(kAlpha), sent())), kQuote));
  cases.push_back(
      in("an error about a later fragment is refused",
         error4(router, site_host(),
                ip_packet({site_host(), inside(kAlpha)}, {.protocol = 6, .fragment = 4}, Bytes(32))),
         kQuote));
  cases.push_back(
      in("an error about a protocol that nobody reads is refused",
         error4(router, site_host(),
                ip_packet({site_host(), inside(kAlpha)}, {.protocol = 132}, Bytes{8, 0, 0, 0, 0, 0, 0, 0})),
         kQuote));
  cases.push_back(in("an error that quotes the other family is refused",
                     icmp_packet({router, site_host()}, kUnreachable, 4, quoting(sent6(), 48)), kQuote));
  cases.push_back(in("a redirect is no error and needs a rule", error4(router, site_host(), sent(), 28, 5),
                     drop(PT_DROP_SOURCE_DENIED)));
  cases.push_back(
      in("options in the quoted header are followed",
         error4(router, site_host(),
                tcp_packet({site_host(), inside(kAlpha)}, 40000, 80, kSyn, {.options = Bytes(40, 1)}), 68),
         kIn));
}

}  // namespace

std::vector<PacketCase> quote_cases() {
  std::vector<PacketCase> cases;
  add_from_peers(cases);
  const Bytes came = tcp_packet({inside(kAlpha), site_host()}, 40000, 80, kSyn);
  cases.push_back(
      out("an error of a site host goes into the tunnel", error4(site_host(), inside(kAlpha), came), kOut));
  cases.push_back(out("so does one of a site router that nobody owns",
                      error4(ip("172.16.0.9"), inside(kAlpha), came), kOut));
  cases.push_back(out(
      "the site cannot report for a peer's address",
      error4(ip("172.16.0.9"), inside(kAlpha), tcp_packet({inside(kAlpha), inside(kBeta)}, 40000, 80, kSyn)),
      kQuote));
  cases.push_back(out("the site cannot report from a peer's address",
                      error4(inside(kBeta), inside(kAlpha), came), drop(PT_DROP_SOURCE_DENIED)));
  return cases;
}

TEST_CASE("an ICMP error passes for the packet that it quotes, and for nothing else") {
  run_cases(quote_cases());
}

}  // namespace postern::testing
