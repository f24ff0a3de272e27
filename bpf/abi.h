/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Everything that the packet path and the agent share: limits, keys and values of maps, and by reasons.h
 * how packets end. It is the only header that both sides include, and it includes nothing but that and
 * <linux/types.h>.
 *
 * Byte order: fields named *_be hold network order, all others host order. Addresses are 16 bytes; an IPv4
 * address is stored v4-mapped (::ffff:a.b.c.d), so one key type serves both families. SPEC 2 describes the
 * tables.
 */
#ifndef POSTERN_ABI_H
#define POSTERN_ABI_H

#include <linux/types.h>

#include "reasons.h"

/* Part of every pin's name: raise it with any change of layout below. */
#define PT_ABI_VERSION 4

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

struct pt_address {
  __u8 bytes[16];
};

/* selector[0], memory-mapped. One 64-bit store flips all tables; a packet loads it once. */
#define PT_SELECTOR(generation, slot) (((__u64)(generation) << 1) | (slot))
#define PT_SELECTOR_SLOT(selector) ((__u32)((selector)&1))
#define PT_SELECTOR_GENERATION(selector) ((selector) >> 1)
/* selector[PT_CLOSES(slot)]: when the slot's generation closes by itself, in nanoseconds of CLOCK_MONOTONIC,
 * which does not count sleep; 0: never. The agent moves it as it learns what time it is. */
#define PT_CLOSES(slot) (1 + (slot))
#define PT_SELECTOR_WORDS (1 + PT_SLOTS)

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

/* ports: where frames arrive, as this generation sees it. A VLAN's device has two rows: frames come under
 * {carrier, VLAN}, and routes name {device, 0}. */
struct pt_port_key {
  __u32 ifindex;
  __u16 vlan;
  __u16 pad;
};
#define PT_PORT_HOST 1 /* the host's own stack sends by it (SPEC 1.15) */
enum pt_role {
  PT_ROLE_UNDERLAY = 1,
  PT_ROLE_LOCAL = 2,
  PT_ROLE_CARRIER = 3, /* its VLANs are ports, and it is none itself */
};
struct pt_port {
  __u32 vni;  /* segment of a local port; PT_VNI_ANY on the underlay */
  __u16 slot; /* index of its counters, below PT_MAX_PORTS; stable while the interface is configured */
  __u8 role;
  __u8 flags;
  __u16 mtu; /* of the interface; 0: not known */
  __u8 mac[6];
  __u32 device;  /* ifindex that the kernel's routes know it by */
  __u32 carrier; /* ifindex that frames leave by: the device's own, or of the one below a VLAN's */
  __u16 vlan;    /* whose tag frames have there; 0: none */
  __u8 pad[2];
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
enum pt_event_type {
  PT_EVENT_NEIGHBOUR_WANTED = 1,
  PT_EVENT_FUTURE_EPOCH = 2,
  PT_EVENT_CONFLICT = 3, /* kept free: two that claim one resource */
};
struct pt_event {
  __u32 type;
  __u32 ifindex; /* future epoch: the resource's number */
  struct pt_address address;
};
#define PT_EVENTS_BYTES 262144
/* neighbours_asked: {ifindex, address} -> boot time of the last event, to ask once a second. */
#define PT_NEIGHBOURS_ASKED 4096

#include "evidence.h"

#ifdef __cplusplus
#define PT_ASSERT static_assert
#else
#define PT_ASSERT _Static_assert
#endif
PT_ASSERT(PT_MAX_SEGMENTS % 64 == 0, "segments fill whole words");
PT_ASSERT(sizeof(struct pt_gateway) == 112, "pt_gateway");
PT_ASSERT(sizeof(struct pt_port_key) == 8, "pt_port_key");
PT_ASSERT(sizeof(struct pt_port) == 28, "pt_port");
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
PT_ASSERT(sizeof(struct pt_sample) == 128, "pt_sample");
PT_ASSERT(sizeof(struct pt_watch) == 56, "pt_watch");
PT_ASSERT(sizeof(struct pt_trace) == 256, "pt_trace");
PT_ASSERT(PT_DROP_REASON_COUNT <= 128, "pt_watch.reasons");
PT_ASSERT(PT_MAX_CLASSES <= 65535, "a class is 16 bits");
PT_ASSERT(PT_MAX_PORT_CLASSES == 256, "a port class is 8 bits");

#endif
