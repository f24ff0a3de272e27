/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Everything that the packet path and the agent share: limits, verdicts, drop reasons, keys and values of
 * maps. It is the only header that both sides include, and it includes nothing but <linux/types.h>.
 *
 * Byte order: fields named *_be hold network order, all others host order. Addresses are 16 bytes; an IPv4
 * address is stored v4-mapped (::ffff:a.b.c.d), so one key type serves both families. Numbers of verdicts and
 * reasons are an interface (metrics, pins, captures): they are never reused. SPEC 2 describes the tables.
 */
#ifndef POSTERN_ABI_H
#define POSTERN_ABI_H

#include <linux/types.h>

/* Part of every pin's name: raise it with any change of layout below. */
#define PT_ABI_VERSION 2

#define PT_SLOTS 2 /* generations that tables exist for at once: the active one and the idle one */

#define PT_MAX_PEERS 131072
#define PT_MAX_PREFIXES 1048576 /* a family */
#define PT_MAX_RULES 65536
#define PT_MAX_POLICY_ROWS 1048576 /* rules spread over port classes */
#define PT_MAX_RESOURCES 4096
#define PT_MAX_SEGMENTS 256
#define PT_MAX_SERVICES 1024
#define PT_MAX_BACKENDS 255     /* of one service */
#define PT_MAX_RULE_COUNTS 4096 /* rules behind it are enforced, and not counted one by one */
#define PT_MAX_GUARDED_PORTS 8
#define PT_FLOWS 65536                    /* remembered flows, where the config says nothing else */
#define PT_MAX_PORTS 256                  /* interfaces (with their VLANs) of one gateway */
#define PT_PORT_SLOT_UNKNOWN PT_MAX_PORTS /* counts frames of no known port */
#define PT_PORT_SLOTS (PT_MAX_PORTS + 1)
#define PT_MAX_CLASSES 65535
#define PT_MAX_PORT_CLASSES 256 /* per protocol; 0 means "no rule names this port" */
#define PT_MAX_UNDERLAY_ADDRESSES 4
#define PT_MAX_VLAN_TAGS 2
#define PT_MAX_EXTENSION_HEADERS 8

#define PT_SEGMENT_WORDS (PT_MAX_SEGMENTS / 64)

#define PT_VXLAN_PORT 4789
#define PT_GENEVE_PORT 6081
#define PT_FENCE_CLASS 0xfff0 /* RFC 8926 3.5: the experimental range of option classes */
#define PT_VNI_ANY 0 /* not a legal segment: the trie key under which "owned in any segment" is kept */
#define PT_MAX_VNI 0xffffff

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
  X(48, NO_BACKEND, "no_backend", "the service has no backend for this protocol and port")

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

struct pt_address {
  __u8 bytes[16];
};

/* selector[0], memory-mapped. One 64-bit store flips all tables; a packet loads it once. */
#define PT_SELECTOR(generation, slot) (((__u64)(generation) << 1) | (slot))
#define PT_SELECTOR_SLOT(selector) ((__u32)((selector)&1))
#define PT_SELECTOR_GENERATION(selector) ((selector) >> 1)

/* gateway[slot]: what a generation says of this gateway itself. */
struct pt_gateway {
  __u64 generation;
  __u64 serial;
  struct pt_address underlay[PT_MAX_UNDERLAY_ADDRESSES]; /* our tunnel addresses; unused ones are all zero */
  __u16 tunnel_port_be;                                  /* VXLAN */
  __u16 geneve_port_be;
  __u16 fence_class_be; /* option class of the fence option */
  __u8 open;            /* 0: mesh traffic is dropped as CLOSED */
  __u8 rule_bank;       /* half of rule_counts that this generation's rules are counted in */
  __u8 mac[6];          /* our inner MAC */
  __u8 clamp_mss;
  __u8 guarded_count;
  __u16 guarded_be[PT_MAX_GUARDED_PORTS]; /* UDP ports that only admitted peers reach */
};

/* ports: an interface that a program is attached to, as this generation sees it. */
struct pt_port_key {
  __u32 ifindex;
  __u16 vlan;
  __u16 pad;
};
#define PT_PORT_HOST 1 /* the host's own stack sends by it (SPEC 1.15) */
enum pt_role { PT_ROLE_UNDERLAY = 1, PT_ROLE_LOCAL = 2 };
struct pt_port {
  __u32 vni;  /* segment of a local port; PT_VNI_ANY on the underlay */
  __u16 slot; /* index of its counters, below PT_MAX_PORTS; stable while the interface is configured */
  __u8 role;
  __u8 flags;
  __u16 mtu; /* of the interface; 0: not known */
  __u8 mac[6];
};

/* segments: VNI -> what the generation says of a segment. */
struct pt_segment {
  __u32 index; /* bit in pt_peer.segments */
  __u8 pad[4];
  struct pt_address
      gateway4; /* our own addresses in it, all zero if none: ARP and ND are answered for these */
  struct pt_address gateway6;
  __u32 host_port; /* ifindex of the host port, 0 if the segment has none */
  __u8 host_mac[6];
  __u8 pad2[6];
};

enum pt_peer_state { PT_PEER_ACTIVE = 0, PT_PEER_REVOKED = 1, PT_PEER_EXPIRED = 2 };
enum pt_peer_kind { PT_PEER_STOCK = 0, PT_PEER_GATEWAY = 1 };
enum pt_tunnel_kind { PT_TUNNEL_VXLAN = 0, PT_TUNNEL_GENEVE = 1 };
#define PT_PEER_METERED 1 /* has a row in rates */

/* peers: outer source address -> who that is and which segments it may use. One lookup tells unknown from
 * denied. */
struct pt_peer {
  __u64 segments[PT_SEGMENT_WORDS];
  __u32 id; /* stable name of the peer in endpoints and counters */
  __u8 state;
  __u8 kind;
  __u8 flags;
  __u8 pad;
};

/* endpoints: peer id -> where to send what it owns. A peer of several underlay addresses has a row for each
 * (`ways` of them, equal but for `remote` and `local`); flows are spread over these. A peer behind a gateway
 * has that gateway's addresses, MAC and tunnel, and its id in `via`. */
#define PT_ENDPOINT_KEY(id, way) ((id) | (__u32)(way) << 24)
struct pt_endpoint {
  struct pt_address remote;
  struct pt_address local;
  __u64 segments[PT_SEGMENT_WORDS];
  __u8 mac[6]; /* inner destination MAC, all zero if not known */
  __u8 state;
  __u8 kind;
  __u32 via; /* peer id of the gateway that relays for it; 0: none */
  __u8 ways;
  __u8 tunnel; /* enum pt_tunnel_kind */
  __u8 flags;
  __u8 pad;
};

/* rates: peer id -> what it may send and be sent, each (SPEC 1.15). A chunk is what a CPU takes at once. */
struct pt_allowance {
  __u64 chunk_ns; /* 0: no limit */
  __u64 burst_ns;
  __u64 chunk; /* bytes, or packets */
};
struct pt_rate {
  struct pt_allowance bytes;
  struct pt_allowance packets;
};
/* buckets: {peer id, direction} -> paid up to, in coarse monotonic ns. A flip refills nothing. */
enum pt_direction { PT_FROM_PEER = 0, PT_TO_PEER = 1 };
#define PT_BUCKET_KEY(id, direction) ((id) << 1 | (direction))
struct pt_bucket {
  __u64 bytes_ns;
  __u64 packets_ns;
};
/* credits: as buckets, per CPU: what is left of the chunks that this CPU took. */
struct pt_credit {
  __u64 bytes;
  __u64 packets;
};

/* owners4, owners6: longest prefix of {segment, address} -> owner. prefixlen counts the segment's 32 bits. */
struct pt_owner_key4 {
  __u32 prefixlen;
  __u32 vni_be;
  __u8 address[4];
};
struct pt_owner_key6 {
  __u32 prefixlen;
  __u32 vni_be;
  __u8 address[16];
};
enum pt_owner_kind { PT_OWNER_LOCAL = 1, PT_OWNER_PEER = 2, PT_OWNER_RESOURCE = 3, PT_OWNER_SERVICE = 4 };
#define PT_OWNER_DEFAULT_ROUTE \
  1 /* a prefix of length 0: steers traffic, but does not make an address the mesh's */
struct pt_owner {
  __u8 kind;
  __u8 flags;
  __u16 class_id;
  __u32 id; /* peer id, resource number, service number, or 0 for the local site */
};

/* resources: resource number -> who holds it and under which epoch; no row: nobody does. It is believed only
 * while its epoch is the fence's, so a fence raised later takes the resource away without a swap. */
#define PT_HOLDER_LOCAL 0xffffffff
struct pt_resource {
  __u64 epoch;
  __u32 holder; /* peer id, or PT_HOLDER_LOCAL */
  __u32 pad;
};

/* services: service number -> its door, and which backend a flow's hash leads to. A draining backend keeps
 * the flows that it has: `flows` still knows it, `fresh` does not. */
#define PT_MAGLEV_SIZE 4093 /* a prime */
#define PT_NO_BACKEND 255
struct pt_service {
  __u16 port;
  __u8 protocol; /* enum pt_protocol */
  __u8 draining; /* whether the two tables differ */
  __u8 fresh[PT_MAGLEV_SIZE];
  __u8 flows[PT_MAGLEV_SIZE];
  __u8 pad[2];
};
/* backends: {service number, place} -> its address; and {service number, PT_BACKEND_SENDER | peer id, 0 for
 * the local site} -> who may send what the service answers. */
#define PT_BACKEND_SENDER 0x80000000u
struct pt_backend_key {
  __u32 service;
  __u32 item;
};
struct pt_backend {
  struct pt_address address;
};

/* policy: allow only; a missing row denies. */
enum pt_protocol {
  PT_PROTO_TCP = 0,
  PT_PROTO_UDP = 1,
  PT_PROTO_ICMP = 2,
  PT_PROTO_ICMPV6 = 3,
  PT_PROTO_OTHER = 4, /* any other; what stands for its port is the protocol's number */
  PT_PROTO_COUNT
};
struct pt_policy_key {
  __u16 source_class;
  __u16 destination_class;
  __u8 protocol; /* enum pt_protocol */
  __u8 port_class;
  __u16 fragments; /* 1: the row is about later fragments, which have no ports; port_class is 0 */
};
#define PT_RULE_STRICT 1 /* replies need a rule of their own */
struct pt_rule {
  __u32 rule; /* position in the snapshot's rules */
  __u32 flags;
};

/* port_classes[(slot * PT_PROTO_COUNT + protocol) * PT_PORT_LINES + port / PT_PORT_LINE], one byte a port.
 * TCP and UDP: the destination port. ICMP and ICMPv6: type << 8 | code. */
#define PT_PORT_LINE 64
#define PT_PORT_LINES (65536 / PT_PORT_LINE)
struct pt_port_line {
  __u8 class_of[PT_PORT_LINE];
};

/* fences[resource number]: not swapped, raising an epoch only denies. A deadline of 0 is past. */
struct pt_fence {
  __u64 epoch;
  __u64 deadline_boot_ns;
};

/* flows: questions that a rule allowed, and flows that began while their service's backend drained. */
struct pt_flow_key {
  struct pt_address source;
  struct pt_address destination;
  __u32 vni;
  __u16 source_port; /* echo: the identifier, as both ports */
  __u16 destination_port;
  __u8 protocol;
  __u8 pad[3];
};
struct pt_flow_entry {
  __u64 generation;
  __u64 seen_ns; /* coarse monotonic */
  __u32 rule;    /* that allowed it, in that generation */
  __u32 pad;
};
#define PT_FLOW_IDLE_NS 180000000000ull /* RFC 4787 4.3: at least two minutes */
#define PT_FLOW_TOUCH_NS 1000000000ull  /* seen_ns is this exact: a busy flow is written once a second */

/* rule_counts[bank * PT_MAX_RULE_COUNTS + rule], per CPU: a bank goes with its list of rules. */

/* verdicts[port slot * PT_VERDICT_COUNT + verdict] and drops[reason], per CPU: they survive a flip. */
struct pt_count {
  __u64 packets;
  __u64 bytes;
};

/* path_mtus[peer id]: the largest outer packet that the underlay is known to take to the peer. Not swapped:
 * it is a fact of the underlay. Read and written as one word. */
#define PT_PATH_MTU_FLOOR 1280 /* the least that IPv6 asks of a link */
#define PT_PATH_MTU_FORGET_S 600
struct pt_path_mtu {
  __u32 mtu;      /* 0: nothing was learnt */
  __u32 learnt_s; /* coarse monotonic */
};

/* icmp_tokens[0], per CPU: how many ICMP errors may be sent now. */
#define PT_ICMP_TOKEN_NS 10000000ull
#define PT_ICMP_BURST 50
struct pt_tokens {
  __u64 filled_ns; /* coarse monotonic */
  __u64 tokens;
};

/* peer_counts: peer id -> traffic, per CPU. rx: accepted from the peer. tx: sent to it. Rows are made by the
 * agent. */
struct pt_peer_count {
  struct pt_count rx;
  struct pt_count tx;
  struct pt_count dropped; /* from the peer, after it was recognised */
};

/* losses: frames that were lost after the packet path let them go, per CPU (losses.bpf.c). */
#define PT_LOSS_INTERFACES 512
struct pt_loss_key {
  __u32 namespace_inode; /* of the network namespace */
  __u32 ifindex;
};
struct pt_losses {
  __u64 redirect; /* arrived here, and the kernel could not redirect it */
  __u64 transmit; /* redirected to here, and the driver did not take it */
};

/* peer_ids: first 16 bytes of BLAKE2b of the peer's name -> id; outlives the agent, so that counters keep
 * theirs. */
struct pt_peer_name {
  __u8 hash[16];
};

/* journal_head[0]: the head of the journal behind this data path, stored after each flush (SPEC 4). */
struct pt_journal_head {
  __u8 journal[16];
  __u64 lseq;
  __u8 hash[32];
};

/* events: a ring of what the agent should act on. */
enum pt_event_type { PT_EVENT_NEIGHBOUR_WANTED = 1, PT_EVENT_FUTURE_EPOCH = 2 };
struct pt_event {
  __u32 type;
  __u32 ifindex; /* future epoch: the resource's number */
  struct pt_address address;
};
#define PT_EVENTS_BYTES 262144
/* neighbours_asked: {ifindex, address} -> boot time of the last event, to ask once a second. */
#define PT_NEIGHBOURS_ASKED 4096

#ifdef __cplusplus
#define PT_ASSERT static_assert
#else
#define PT_ASSERT _Static_assert
#endif
PT_ASSERT(PT_MAX_SEGMENTS % 64 == 0, "segments fill whole words");
PT_ASSERT(sizeof(struct pt_gateway) == 112, "pt_gateway");
PT_ASSERT(sizeof(struct pt_port_key) == 8, "pt_port_key");
PT_ASSERT(sizeof(struct pt_port) == 16, "pt_port");
PT_ASSERT(sizeof(struct pt_path_mtu) == 8, "pt_path_mtu");
PT_ASSERT(sizeof(struct pt_segment) == 56, "pt_segment");
PT_ASSERT(sizeof(struct pt_peer) == 40, "pt_peer");
PT_ASSERT(sizeof(struct pt_endpoint) == 80, "pt_endpoint");
PT_ASSERT(sizeof(struct pt_owner_key4) == 12, "pt_owner_key4");
PT_ASSERT(sizeof(struct pt_owner_key6) == 24, "pt_owner_key6");
PT_ASSERT(sizeof(struct pt_owner) == 8, "pt_owner");
PT_ASSERT(sizeof(struct pt_rate) == 48, "pt_rate");
PT_ASSERT(sizeof(struct pt_bucket) == 16, "pt_bucket");
PT_ASSERT(sizeof(struct pt_credit) == 16, "pt_credit");
PT_ASSERT(sizeof(struct pt_resource) == 16, "pt_resource");
PT_ASSERT(sizeof(struct pt_service) == 8192, "pt_service");
PT_ASSERT(sizeof(struct pt_backend_key) == 8, "pt_backend_key");
PT_ASSERT(sizeof(struct pt_backend) == 16, "pt_backend");
PT_ASSERT(sizeof(struct pt_flow_key) == 44, "pt_flow_key");
PT_ASSERT(sizeof(struct pt_flow_entry) == 24, "pt_flow_entry");
PT_ASSERT(sizeof(struct pt_policy_key) == 8, "pt_policy_key");
PT_ASSERT(sizeof(struct pt_rule) == 8, "pt_rule");
PT_ASSERT(sizeof(struct pt_port_line) == 64, "pt_port_line");
PT_ASSERT(sizeof(struct pt_fence) == 16, "pt_fence");
PT_ASSERT(sizeof(struct pt_peer_count) == 48, "pt_peer_count");
PT_ASSERT(sizeof(struct pt_journal_head) == 56, "pt_journal_head");
PT_ASSERT(sizeof(struct pt_event) == 24, "pt_event");
PT_ASSERT(PT_MAX_CLASSES <= 65535, "a class is 16 bits");
PT_ASSERT(PT_MAX_PORT_CLASSES == 256, "a port class is 8 bits");

#endif
