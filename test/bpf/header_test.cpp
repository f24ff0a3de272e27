// SPDX-License-Identifier: Apache-2.0
// What may stand between the IP header and the ports: options, extension headers, fragments (SPEC 1.2).
#include <doctest/doctest.h>

#include "packet_case.h"

namespace postern::testing {
namespace {

const End kIn = verdict(PT_VERDICT_DECAPSULATED);
const End kMalformed = drop(PT_DROP_MALFORMED);
const End kSourceRoute = drop(PT_DROP_SOURCE_ROUTE);
const End kFragment = drop(PT_DROP_FRAGMENT);

constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragmentHeader = 44;
constexpr std::uint8_t kAuthentication = 51;
constexpr std::uint8_t kDestination = 60;

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
PacketCase site(std::string says, const Bytes& packet, End end) {
  return {std::move(says), Side::local, on_site(packet), end};
}

// An extension header by its kind, and the bytes in front of what it leads to.
struct Extension {
  std::uint8_t kind = 0;
  Bytes body;  // without the byte that names what follows
};
Extension plain(std::uint8_t kind, std::size_t eights = 1) {
  Bytes body(eights * 8 - 1);
  body[0] = static_cast<std::uint8_t>(eights - 1);
  return {kind, body};
}
Extension authentication(std::size_t words) {
  Bytes body(words * 4 - 1);
  body[0] = static_cast<std::uint8_t>(words - 2);
  return {kAuthentication, body};
}
Extension routing(std::uint8_t type, std::uint8_t segments_left) {
  Extension header = plain(kRouting);
  header.body[1] = type;
  header.body[2] = segments_left;
  return header;
}
Extension fragment(std::uint16_t place) {
  Extension header = plain(kFragmentHeader);
  store_be16(header.body, 1, place);
  return header;
}

Bytes chained(const std::vector<Extension>& chain, std::uint8_t transport, const Bytes& payload,
              const Route& route = inward6()) {
  Bytes body;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    body.push_back(i + 1 < chain.size() ? chain[i + 1].kind : transport);
    body.insert(body.end(), chain[i].body.begin(), chain[i].body.end());
  }
  body.insert(body.end(), payload.begin(), payload.end());
  return ip_packet(route, {.protocol = chain.empty() ? transport : chain[0].kind}, body);
}
Bytes chained_syn(const std::vector<Extension>& chain, std::uint16_t port = 80) {
  return chained(chain, kTcp, tcp(inward6(), 40000, port, kSyn));
}

Bytes optioned(const Bytes& options, std::uint16_t port = 80) {
  return tcp_packet(inward(), 40000, port, kSyn, {.options = options});
}

void add_options(std::vector<PacketCase>& cases) {
  const Bytes record_route = {7, 7, 4, 0, 0, 0, 0, 0};
  const Bytes loose = {131, 7, 4, 10, 2, 0, 1, 0};
  const Bytes strict = {1, 137, 7, 4, 10, 2, 0, 1};
  cases.push_back(inner("options leave the ports where they are found", optioned(record_route), kIn));
  cases.push_back(inner("options do not hide a port without a rule", optioned(record_route, 81),
                        drop(PT_DROP_POLICY_DENIED)));
  cases.push_back(inner("forty bytes of options are followed", optioned(Bytes(40, 1)), kIn));
  cases.push_back(inner("a loose source route is dropped", optioned(loose), kSourceRoute));
  cases.push_back(inner("a strict source route behind padding is dropped", optioned(strict), kSourceRoute));
  cases.push_back(
      inner("a source route behind the end of options is none", optioned({0, 131, 7, 4, 10, 2, 0, 1}), kIn));
  cases.push_back(
      inner("a source route in another option's data is none", optioned({68, 8, 131, 137, 0, 0, 0, 0}), kIn));
  cases.push_back(inner("an option of length 0 is malformed", optioned({7, 0, 0, 0}), kMalformed));
  cases.push_back(inner("an option beyond the header is malformed", optioned({7, 5, 0, 0}), kMalformed));
  cases.push_back(inner("an option without a length is malformed", optioned({1, 1, 1, 7}), kMalformed));
  const Bytes routed = udp_packet({ip("192.0.2.77"), ip("192.0.2.1")}, 1, 2, 8, {.options = loose});
  cases.push_back(
      outer("a source route on the underlay is dropped, whomever it is to", routed, kSourceRoute));
  cases.push_back(site("a source route from the site is dropped, whomever it is to",
                       udp_packet({site_host(), ip("10.1.0.1")}, 1, 2, 8, {.options = loose}), kSourceRoute));
  cases.push_back(site("options from the site enter a tunnel",
                       udp_packet({site_host(), inside(kAlpha)}, 40000, 53, 8, {.options = Bytes(4, 1)}),
                       verdict(PT_VERDICT_ENCAPSULATED)));
}

void add_extensions(std::vector<PacketCase>& cases) {
  for (const std::uint8_t kind :
       std::initializer_list<std::uint8_t>{kHopByHop, kDestination, 135, 139, 140}) {
    cases.push_back(inner("behind extension header " + std::to_string(kind) + " the ports are found",
                          chained_syn({plain(kind, 2)}), kIn));
  }
  cases.push_back(inner("AH is measured in words of four bytes", chained_syn({authentication(6)}), kIn));
  cases.push_back(inner("AH does not hide a port without a rule", chained_syn({authentication(7)}, 81),
                        drop(PT_DROP_POLICY_DENIED)));
  cases.push_back(inner("seven extension headers are followed",
                        chained_syn(std::vector<Extension>(7, plain(kDestination))), kIn));
  cases.push_back(inner("eight extension headers are followed",
                        chained_syn(std::vector<Extension>(8, plain(kDestination))), kIn));
  cases.push_back(inner("the ninth extension header is one too many",
                        chained_syn(std::vector<Extension>(9, plain(kDestination))),
                        drop(PT_DROP_TOO_MANY_HEADERS)));
  cases.push_back(inner("an extension header beyond the packet is malformed",
                        chained({}, kDestination, Bytes{kTcp, 9, 0, 0, 0, 0, 0, 0}), kMalformed));
  cases.push_back(inner(
      "what is padding behind a packet is no transport header",
      [] {
        Bytes packet = chained({}, kDestination, Bytes{kTcp, 1, 0, 0, 0, 0, 0, 0});
        packet.resize(packet.size() + 8);
        const Bytes segment = tcp(inward6(), 40000, 80, kSyn);
        packet.insert(packet.end(), segment.begin(), segment.end());
        return packet;
      }(),
      kMalformed));
  cases.push_back(inner("an extension header cut short is malformed",
                        chained({}, kDestination, Bytes{kTcp, 0}), kMalformed));
  cases.push_back(inner("routing header 0 is dropped", chained_syn({routing(0, 0)}), kSourceRoute));
  cases.push_back(
      inner("a routing header that is not used up is dropped", chained_syn({routing(4, 1)}), kSourceRoute));
  cases.push_back(inner("one that is used up is followed", chained_syn({routing(4, 0)}), kIn));
  cases.push_back(outer("a routing header on the underlay is dropped, whomever it is to",
                        chained({routing(0, 2)}, kTcp, Bytes(20), {ip("2001:db8::1"), ip("2001:db8::2")}),
                        kSourceRoute));
  cases.push_back(outer("extension headers do not hide a mesh address",
                        chained({plain(kDestination)}, kTcp, Bytes(20), {ip("2001:db8::1"), site_host6()}),
                        drop(PT_DROP_UNTUNNELLED)));
  cases.push_back(inner(
      "neighbour discovery behind an extension header is refused",
      [] {
        Bytes packet =
            discovery_packet({inside6(kAlpha), ip("fd01::1")}, {.target = ip("fd01::1"), .option_mac = {}});
        return chained({plain(kHopByHop)}, 58, Bytes(packet.begin() + 40, packet.end()),
                       {inside6(kAlpha), ip("fd01::1")});
      }(),
      drop(PT_DROP_NEIGHBOUR_REFUSED)));
  cases.push_back(
      inner("an echo request with options to the gateway is not answered",
            icmp_packet({inside(kAlpha), ip("10.1.0.1")}, 8, 0, Bytes(8), {.options = Bytes(4, 1)}),
            drop(PT_DROP_UNKNOWN_HEADER)));
}

void add_fragments(std::vector<PacketCase>& cases) {
  constexpr std::uint16_t kMore = 0x2000;
  const Bytes segment = tcp(inward(), 40000, 80, kSyn, 12);
  const auto tcp_piece = [](std::uint16_t place, const Bytes& payload) {
    return ip_packet(inward(), {.protocol = kTcp, .fragment = place}, payload);
  };
  cases.push_back(inner("a first fragment is judged by its ports", tcp_piece(kMore, segment), kIn));
  cases.push_back(inner("a first fragment to a port without a rule is denied",
                        tcp_piece(kMore, tcp(inward(), 40000, 81, kSyn, 12)), drop(PT_DROP_POLICY_DENIED)));
  cases.push_back(inner("a later fragment is dropped, even the one of a denied port", tcp_piece(4, Bytes(32)),
                        kFragment));
  cases.push_back(inner("a first fragment of eight bytes of TCP is malformed",
                        tcp_piece(kMore, Bytes(segment.begin(), segment.begin() + 8)), kMalformed));
  cases.push_back(inner("a TCP fragment that would overwrite the flags is malformed", tcp_piece(1, Bytes(32)),
                        kMalformed));
  cases.push_back(inner("a fragment with more to come and a length that is no multiple of eight is malformed",
                        tcp_piece(kMore, tcp(inward(), 40000, 80, kSyn, 3)), kMalformed));
  for (const std::uint8_t protocol : std::initializer_list<std::uint8_t>{17, 1}) {
    Bytes empty = ip_packet(inward(), {.protocol = protocol, .fragment = kMore}, {});
    const Bytes behind = protocol == 17 ? udp(inward(), 40000, 53, 8) : Bytes{8, 0, 0, 0, 0, 0, 0, 0};
    empty.insert(empty.end(), behind.begin(), behind.end());
    cases.push_back(
        inner("a first fragment of nothing has no header, whatever stands behind it", empty, kMalformed));
  }
  cases.push_back(inner("a fragment beyond the largest packet is malformed",
                        ip_packet(inward(), {.protocol = 17, .fragment = 0x1fff}, Bytes(64)), kMalformed));
  cases.push_back(inner("a piece of an echo request to the gateway is not answered",
                        icmp_packet({inside(kAlpha), ip("10.1.0.1")}, 8, 0, Bytes(12), {.fragment = kMore}),
                        kFragment));
  cases.push_back(inner("a first UDP fragment is shorter than its datagram",
                        ip_packet(inward(), {.protocol = 17, .fragment = kMore},
                                  [] {
                                    Bytes whole = udp(inward(), 40000, 53, 2000);
                                    return Bytes(whole.begin(), whole.begin() + 64);
                                  }()),
                        kIn));
  cases.push_back(inner("a first IPv6 fragment is judged by its ports",
                        chained({fragment(1)}, kTcp, tcp(inward6(), 40000, 80, kSyn, 12)), kIn));
  cases.push_back(inner("an IPv6 packet in one fragment is a whole packet", chained_syn({fragment(0)}), kIn));
  cases.push_back(
      inner("a later IPv6 fragment is dropped", chained({fragment(4 << 3)}, 17, Bytes(32)), kFragment));
  cases.push_back(inner("a later IPv6 fragment is dropped whatever its middle looks like",
                        chained({fragment(4 << 3)}, kDestination, Bytes(32)), kFragment));
  cases.push_back(inner("an IPv6 TCP fragment that would overwrite the flags is malformed",
                        chained({fragment(1 << 3)}, kTcp, Bytes(32)), kMalformed));
  cases.push_back(inner("a first IPv6 fragment of eight bytes of TCP is malformed",
                        chained({fragment(1)}, kTcp, Bytes(8)), kMalformed));
  cases.push_back(
      outer("a fragment on the underlay that is not ours is the host's",
            ip_packet({ip("192.0.2.77"), ip("192.0.2.78")}, {.protocol = 17, .fragment = 3}, Bytes(64)),
            verdict(PT_VERDICT_PASS)));
}

}  // namespace

std::vector<PacketCase> header_cases() {
  std::vector<PacketCase> cases;
  add_options(cases);
  add_extensions(cases);
  add_fragments(cases);
  return cases;
}

TEST_CASE("options, extension headers and fragments hide no port, and a source route goes nowhere") {
  run_cases(header_cases());
}

}  // namespace postern::testing
