// SPDX-License-Identifier: Apache-2.0
// The mesh that the packet tests run in, as tables of one gateway, and the packets of its inhabitants.
//
//   segment 100: our site 10.1.0.0/16 fd01::/32 (class 1); peers (class 2), each owning 10.<n>.0.0/16 and
//   fd0<n>::/32 as listed at Who; resource 1 has 10.20.0.0/24 (class 3).   segment 200: our site 10.9.0.0/24.
//   Rules: TCP 80 and UDP 53 between classes 1 and 2 in all directions, and to 3; echo likewise. TCP 8080 and
//   443 only from class 1 to 2, 443 strict.
#pragma once

#include <cstdint>

#include "dataplane/tables.h"
#include "network.h"
#include "support/frame.h"

namespace postern::testing {

inline constexpr std::uint32_t kVni = 100;
inline constexpr std::uint32_t kOtherVni = 200;

// Peer ids; 10.<id>.0.0/16 in segment 100 is theirs, and 192.0.2.<id> is their underlay address where nothing
// else is said. All are stock peers with a MAC, active, in segment 100 but for what their name says.
enum Who : std::uint8_t {
  kAlpha = 2,
  kBeta = 3,
  kGatewayC = 4,  // kind gateway
  kGatewayD = 5,  // kind gateway
  kRevoked = 6,
  kExpired = 7,
  kMacless = 8,
  kElsewhere = 10,   // may use segment 200 only
  kSilent = 11,      // underlay 192.0.2.99, whose neighbour is not resolved
  kUnroutable = 12,  // underlay 198.51.100.1, to which there is no route
  kLeaky = 13,       // underlay 203.0.113.1, routed out of a site interface
  kSixth = 14,       // underlay 2001:db8::e
  kJumbo = 15,       // underlay 198.18.0.15, behind u9
};

MacAddress our_mac();
MacAddress peer_mac(Who who);
IpAddress our_underlay();   // 192.0.2.1
IpAddress our_underlay6();  // 2001:db8::1
IpAddress underlay_of(Who who);
// 10.<who>.0.10, fd<who>::10
IpAddress inside(Who who);
IpAddress inside6(Who who);
IpAddress site_host();   // 10.1.0.10
IpAddress site_host6();  // fd01::10

dataplane::Tables mesh_tables();
// Segment 100 gets the host port h0.
void add_host_port(dataplane::Tables& tables);
// Adds a row to owners4 or owners6, and under PT_VNI_ANY unless it is a default route.
void add_owner(dataplane::Tables& tables, std::uint32_t vni, const IpPrefix& prefix, const pt_owner& owner);
// A rule's rows: a port with a class of its own, and a pair of classes that may use it.
inline constexpr std::uint16_t kSiteClass = 1;
inline constexpr std::uint16_t kPeerClass = 2;
inline constexpr std::uint16_t kResourceClass = 3;
void set_port_class(dataplane::Tables& tables, pt_protocol protocol, std::uint16_t port,
                    std::uint8_t port_class);
void allow(dataplane::Tables& tables, std::uint16_t from, std::uint16_t to, pt_protocol protocol,
           std::uint8_t port_class, std::uint32_t flags = 0);
pt_peer& peer_row(dataplane::Tables& tables, Who who);
pt_endpoint& endpoint_row(dataplane::Tables& tables, Who who);
void revoke(dataplane::Tables& tables, Who who);
// Rows in the order that Tables asks for.
void sort_rows(dataplane::Tables& tables);

// What a router of the underlay hands to u0: a peer's VXLAN packet with this inner frame.
Bytes from_peer(Who who, const Bytes& inner_frame, std::uint32_t vni = kVni);
// The inner frame of an IP packet of this peer, to our MAC.
Bytes inner_frame(Who who, const Bytes& packet);
Bytes from_peer_packet(Who who, const Bytes& packet, std::uint32_t vni = kVni);
// A frame on u0 outside of any tunnel, and one that a host sends to l0.
Bytes on_underlay(const Bytes& packet);
Bytes on_site(const Bytes& packet);

// What the gateway should send for a packet (with its TTL lowered already).
Bytes delivered(const Bytes& packet);
// `source_port` is taken from what it did send.
Bytes encapsulated(Who who, const Bytes& inner, std::uint16_t source_port, std::uint8_t tos = 0);
Bytes encapsulated_packet(Who who, const Bytes& packet, std::uint16_t source_port, std::uint8_t tos = 0);

}  // namespace postern::testing
