/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How packets end, why they are dropped, and what happens beside that (SPEC 1.10): the lists that enums,
 * labels of metrics and the tables of the documents are made from. Numbers are an interface (metrics, pins,
 * captures): they are never reused. Included by abi.h.
 */
#ifndef POSTERN_REASONS_H
#define POSTERN_REASONS_H

/* How a packet ended. Every packet is counted under exactly one verdict; DROP and REFUSED further under one
 * reason.
 *        number, NAME,   label,    help */
#define PT_VERDICTS(X)                                                                                \
  X(0, DROP, "drop", "dropped, see drops_total for the reason")                                       \
  X(1, PASS, "pass", "handed to the host's own network stack")                                        \
  X(2, DECAPSULATED, "decapsulated", "taken out of a tunnel and sent into the site")                  \
  X(3, ENCAPSULATED, "encapsulated", "taken from the site and sent into a tunnel")                    \
  X(4, RELAYED, "relayed", "taken out of one peer's tunnel and sent into another's")                  \
  X(5, REPLIED, "replied", "an ARP, neighbour or echo request that the gateway answered")             \
  X(6, ROUTED, "routed", "forwarded from one local interface to another")                             \
  X(7, REFUSED, "refused", "dropped, and its sender told so by ICMP, see drops_total for the reason") \
  X(8, HANDED, "handed", "given to the host's stack through the host port: its own, or too hard for us")

/* Why a packet was dropped. One line is one number for ever. The labels are the metric's `reason`. */
#define PT_DROP_REASONS(X)                                                                                 \
  X(1, MALFORMED, "malformed", "a header is cut short or contradicts the packet's length")                 \
  X(2, FRAGMENT, "fragment", "a fragment where none is allowed")                                           \
  X(3, UNKNOWN_HEADER, "unknown_header", "IP options or IPv6 extension headers where none are understood") \
  X(4, L4_UNSUPPORTED, "l4_unsupported", "an inner protocol other than TCP, UDP, ICMP and ICMPv6")         \
  X(5, BAD_TUNNEL, "bad_tunnel", "VXLAN flags or reserved bits that are not as RFC 7348 has them")         \
  X(6, PEER_UNKNOWN, "peer_unknown", "the outer source is no peer of the adopted snapshot")                \
  X(7, VNI_DENIED, "vni_denied", "a known peer used a segment that it may not use")                        \
  X(8, PEER_REVOKED, "peer_revoked", "the snapshot revokes this peer")                                     \
  X(9, PEER_EXPIRED, "peer_expired", "the peer is outside of its signed time of validity")                 \
  X(10, NOT_OUR_MAC, "not_our_mac", "the inner frame is addressed to somebody else's MAC")                 \
  X(11, INNER_MULTICAST, "inner_multicast", "inner multicast or broadcast other than ARP and ND")          \
  X(12, VLAN_TAG, "vlan_tag", "a VLAN tag inside a tunnel, or on an interface that has none configured")   \
  X(13, INNER_ETHERTYPE, "inner_ethertype", "an inner frame that is neither IPv4, IPv6 nor ARP")           \
  X(14, LINK_LOCAL, "link_local", "an inner link-local or loopback address, beyond neighbour discovery")   \
  X(15, NEIGHBOUR_REFUSED, "neighbour_refused",                                                            \
    "ARP or ND for an address that is not the segment's, or false")                                        \
  X(16, SOURCE_DENIED, "source_denied", "the inner source is not owned by the one that sent it")           \
  X(17, UNHELD, "unheld", "the address belongs to a resource that nobody holds")                           \
  X(18, POLICY_DENIED, "policy_denied", "no rule allows this")                                             \
  X(19, NO_ROUTE, "no_route", "nobody owns the destination in this segment")                               \
  X(20, UNTUNNELLED, "untunnelled", "from or to a mesh address, but outside of a tunnel")                  \
  X(21, TTL_EXCEEDED, "ttl_exceeded", "TTL or hop limit used up")                                          \
  X(22, TOO_BIG, "too_big", "does not fit the MTU of the way out")                                         \
  X(23, NEIGHBOUR_UNRESOLVED, "neighbour_unresolved",                                                      \
    "the next hop's MAC is not known yet; it is being asked")                                              \
  X(24, EGRESS_NOT_ALLOWED, "egress_not_allowed",                                                          \
    "the route leaves by an interface of another role or segment")                                         \
  X(25, NO_FIB_ROUTE, "no_fib_route", "the kernel's routing table has no way there")                       \
  X(26, PEER_MAC_UNKNOWN, "peer_mac_unknown", "the destination peer has no inner MAC in the snapshot")     \
  X(27, RELAY_REFUSED, "relay_refused", "from one gateway to another, or back to its sender")              \
  X(28, CLOSED, "closed", "nothing adopted yet, or the snapshot expired with on_expiry close")             \
  X(29, TABLE_MISSING, "table_missing", "a table of this generation is missing: a fault of the gateway")   \
  X(30, PORT_UNKNOWN, "port_unknown", "arrived on an interface that the generation does not know")         \
  X(31, NO_HEADROOM, "no_headroom", "no room in front of the frame to encapsulate it")                     \
  X(32, SOURCE_ROUTE, "source_route", "a source route: the sender wants to name the way itself")           \
  X(33, TOO_MANY_HEADERS, "too_many_headers", "more IPv6 extension headers than are followed")             \
  X(34, NOT_LINEAR, "not_linear", "headers that must be changed lie behind the frame's first buffer")      \
  X(35, ICMP_QUOTE, "icmp_quote", "an ICMP error that quotes no packet of the one that it is sent to")     \
  X(36, CONGESTION, "congestion", "marked by a congested router, and its ends do not understand marks")    \
  X(40, NOT_HOLDER, "not_holder", "another gateway or peer holds the resource")                            \
  X(41, LEASE_EXPIRED, "lease_expired", "the holder's lease ran out, or was never granted")                \
  X(42, STALE_EPOCH, "stale_epoch", "sent or held under an epoch below the resource's fence")              \
  X(43, FUTURE_EPOCH, "future_epoch", "sent under an epoch above the resource's fence")                    \
  X(44, FLOW_FULL, "flow_full", "no room to remember the flow that its replies need")                      \
  X(45, FLOW_BUSY, "flow_busy", "the flow's place in the table was being changed by others")               \
  X(46, RATE_EXCEEDED, "rate_exceeded", "more than the peer's signed rate")                                \
  X(47, GUARDED, "guarded", "to a guarded port, from a stranger or in a form that could hide one")         \
  X(48, NO_BACKEND, "no_backend", "the service has no backend for this protocol and port")                 \
  X(49, VLAN_MISSING, "vlan_missing", "no VLAN tag, on an interface of which only VLANs are configured")

enum pt_verdict {
#define PT_X(number, name, label, help) PT_VERDICT_##name = number,
  PT_VERDICTS(PT_X)
#undef PT_X
      PT_VERDICT_COUNT
};

enum pt_drop_reason {
  PT_DROP_NONE = 0,
#define PT_X(number, name, label, help) PT_DROP_##name = number,
  PT_DROP_REASONS(PT_X)
#undef PT_X
      PT_DROP_REASON_COUNT
};

/* What happened beside a packet's verdict. incidents[number], per CPU, not swapped.
 *        number, NAME,   label,    help */
#define PT_INCIDENTS(X)                                                                                  \
  X(0, ICMP_SENT, "icmp_sent", "ICMP errors that the gateway sent")                                      \
  X(1, ICMP_LIMITED, "icmp_limited", "ICMP errors that were due and not sent, for there were too many")  \
  X(2, PATH_MTU_LOWERED, "path_mtu_lowered", "reports from the underlay that lowered a peer's path MTU") \
  X(3, PATH_MTU_REFUSED, "path_mtu_refused", "such reports that came too often or would have raised it") \
  X(4, MSS_CLAMPED, "mss_clamped", "TCP connections whose segment size was lowered to fit the tunnel")

enum pt_incident {
#define PT_X(number, name, label, help) PT_INCIDENT_##name = number,
  PT_INCIDENTS(PT_X)
#undef PT_X
      PT_INCIDENT_COUNT
};

#endif
