/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the stages hand on about one packet, bounded access to its bytes, and the headers as they lie on the
 * wire. */
#ifndef POSTERN_PACKET_H
#define POSTERN_PACKET_H

#include "tables.h"
#include "vocabulary.h"

enum pt_fragment { PT_FRAGMENT_NONE = 0, PT_FRAGMENT_FIRST = 1, PT_FRAGMENT_LATER = 2 };

/* One IP packet's headers, outer, inner or quoted. Addresses are in pt_address form, all else in host order.
 */
struct pt_flow {
  struct pt_address source __attribute__((aligned(8)));
  struct pt_address destination __attribute__((aligned(8)));
  __u32 transport_offset; /* from the start of the frame; behind options and extension headers */
  __u16 total_length;     /* IP header and payload */
  __u16 payload_length;   /* from transport_offset on */
  __u16 source_port;      /* ICMP: 0 */
  __u16 destination_port; /* ICMP: type << 8 | code */
  __u8 family;
  __u8 next_header; /* behind all extension headers */
  __u8 protocol;    /* enum pt_protocol, set by pt_parse_transport */
  __u8 ttl;
  __u8 tos;
  __u8 fragment;  /* enum pt_fragment */
  bool options;   /* IPv4 options or IPv6 extension headers stand in front of the transport */
  bool neighbour; /* ICMPv6 of neighbour discovery */
  bool syn;
  bool reply;         /* TCP with ACK or RST: may pass by the reverse rule */
  bool error;         /* ICMP or ICMPv6 that quotes the packet it is about */
  bool dont_fragment; /* IPv4's flag; IPv6 packets are never fragmented on the way */
  bool quoted;        /* read from inside an ICMP error; what it says was not checked beyond its ports */
};

struct pt_link {
  __u16 type;   /* behind all tags */
  __u8 tags;    /* VLAN tags in front of it */
  __u32 offset; /* of what follows */
  bool group;   /* sent to a multicast or broadcast MAC */
  bool broadcast;
  bool multicast6; /* 33:33:..., RFC 2464 */
};

/* What the tunnel headers say. */
struct pt_tunnel {
  __u32 vni;
  __u32 length;  /* of everything in front of the inner frame */
  __u32 options; /* bytes of it that are Geneve options, at its end */
  bool known;    /* its flags are ones that we understand */
};

/* What functions of their own (PT_FUNCTION) are told of the packet: they are verified without their callers,
 * so that pointers inside of what they are handed mean nothing to them. */
struct pt_case {
  __u64 generation;
  __u32 slot;
  __u32 vni;
  __u32 length;
  __u32 sender;
  __u32 rule_bank;
  __u16 from_class;
  __u16 to_class;
};

/* What those who watch are told of the packet's end. */
struct pt_exit {
  __u64 generation;
  __u32 length;
  __u32 vni;
  __u32 sender;
  __u32 receiver;
  __u32 refused;
  __u32 ifindex;
  int end;
  __u32 inner;
};

/* What a packet's stages work on and the stack has no room for. One a CPU: programs run to their end on it.
 */
struct pt_work {
  struct pt_link link;
  struct pt_tunnel tunnel;
  struct pt_flow outer;
  struct pt_flow flow; /* the inner or local packet */
  struct pt_flow quote;
  struct bpf_fib_lookup fib;
  struct pt_case about;
  struct pt_exit exit;
  struct pt_address next __attribute__((aligned(8))); /* backend that stands in the destination's place */
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct pt_work);
} work SEC(".maps");

struct pt_packet {
  struct xdp_md* ctx;
  struct pt_work* work;
  const struct pt_segment* segment; /* NULL before it is known */
  struct pt_generation generation;
  __u32 length;     /* as it arrived */
  __u32 port_slot;  /* of its counters */
  __u32 port_mtu;   /* 0: not known */
  __u32 device;     /* of the port, as routes know it */
  __u32 carrier;    /* of the port, as frames leave by it */
  __u32 vni;        /* segment: of the local port, or of the tunnel */
  __u32 sender;     /* peer that it came from; 0: none was recognised */
  __u32 receiver;   /* peer that it goes to; 0: none */
  __u32 mtu;        /* largest IP packet for the way that was looked up last */
  __u32 tunnel_mtu; /* the same for what the sender is sent, as far as the port of arrival tells */
  __u32 refused;    /* reason that the sender was told by ICMP, with PT_VERDICT_REFUSED */
  __u8 sender_kind;
  __u8 sender_flags;
  bool fenced;    /* sent by a resource's holder, under this epoch */
  bool from_host; /* by the host port */
  bool to_peer;   /* a tunnel is its way */
  bool by_host;   /* of which the host's stack sends the packets on */
  bool for_port;  /* the frame is addressed to the port's own MAC */
  bool inner;     /* work->flow is what is judged, not work->outer */
  __u8 outer_tos;
  __u8 answer_tos;
  __u16 arrived_tag; /* that was taken off; 0: none */
  __u16 leaving_tag; /* that is to be put on */
  __u32 fence_resource;
  __u64 fence_epoch;
  __u64 watched_ns; /* until when somebody does; 0: nobody */
};

struct pt_ethernet {
  __u16 destination[3];
  __u16 source[3];
  __u16 type_be;
};

struct pt_vlan {
  __u16 tag_be;
  __u16 type_be;
};

struct pt_ipv4 {
  __u8 version_length;
  __u8 tos;
  __u16 total_length_be;
  __u16 id_be;
  __u16 fragment_be;
  __u8 ttl;
  __u8 protocol;
  __u16 checksum;
  __u32 source_be;
  __u32 destination_be;
};

struct pt_ipv6 {
  __u32 version_class_flow_be;
  __u16 payload_length_be;
  __u8 next_header;
  __u8 hop_limit;
  __u32 source_be[4];
  __u32 destination_be[4];
};

struct pt_tcp {
  __u16 source_be;
  __u16 destination_be;
  __u32 sequence_be;
  __u32 acknowledgement_be;
  __u8 offset; /* upper four bits, in words */
  __u8 flags;
  __u16 window_be;
  __u16 checksum;
  __u16 urgent_be;
};

struct pt_udp {
  __u16 source_be;
  __u16 destination_be;
  __u16 length_be;
  __u16 checksum;
};

struct pt_icmp {
  __u8 type;
  __u8 code;
  __u16 checksum;
  __u32 rest;
};

#define PT_ETHERTYPE_IPV4 0x0800
#define PT_ETHERTYPE_ARP 0x0806
#define PT_ETHERTYPE_VLAN 0x8100
#define PT_ETHERTYPE_QINQ 0x88a8
#define PT_ETHERTYPE_IPV6 0x86dd

#define PT_IP_ICMP 1
#define PT_IP_TCP 6
#define PT_IP_UDP 17
#define PT_IP_ICMPV6 58

/* A part of the work space, emptied of what the last packet left there. */
#define pt_clean(part) ((typeof(&(part)))__builtin_memset(&(part), 0, sizeof(part)))

/* `size` bytes at `offset`, or NULL if the frame is shorter. */
PT_STAGE void* pt_bytes(struct xdp_md* ctx, __u32 offset, __u32 size) {
  void* start = (void*)(long)ctx->data + offset;
  return start + size <= (void*)(long)ctx->data_end ? start : NULL;
}
#define PT_HEADER(ctx, offset, type) ((type*)pt_bytes(ctx, offset, sizeof(type)))

/* Some bytes of a header: where they lie, or a copy of them when the driver put them behind the linear part
 * of a frame of several buffers. NULL if the frame is shorter. */
PT_STAGE const void* pt_read(struct xdp_md* ctx, __u32 offset, void* copy, __u32 size) {
  const void* direct = pt_bytes(ctx, offset, size);
  if (direct) return direct;
  return bpf_xdp_load_bytes(ctx, offset, copy, size) == 0 ? copy : NULL;
}
#define PT_READ(ctx, offset, copy) ((const typeof(copy)*)pt_read(ctx, offset, &(copy), sizeof(copy)))

/* Of all buffers together. */
PT_STAGE __u32 pt_length(struct xdp_md* ctx) {
  return (__u32)bpf_xdp_get_buff_len(ctx);
}

/* Noted where nothing of it changes any more. */
PT_STAGE struct pt_case* pt_case_of(const struct pt_packet* packet) {
  struct pt_case* about = &packet->work->about;
  about->generation = packet->generation.number;
  about->slot = packet->generation.slot;
  about->vni = packet->vni;
  about->length = packet->length;
  about->sender = packet->sender;
  about->rule_bank = packet->generation.gateway->rule_bank;
  return about;
}

#endif
