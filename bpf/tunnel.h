/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * VXLAN (RFC 7348): recognised, taken off, put on (SPEC 1.8).
 *
 * The tunnel headers are taken off as soon as a packet is admitted, so that the stages behind see one kind of
 * frame, inner or local, at the packet's start; a relayed packet gets new ones at the same cost as a local
 * one, and always finds the room that the old ones left.
 *
 * The outer UDP checksum is not looked at: over IPv4 RFC 7348 lets a receiver ignore it, and the inner packet
 * has its own. We send zero.
 */
#ifndef POSTERN_TUNNEL_H
#define POSTERN_TUNNEL_H

#include "parse.h"
#include "route.h"

struct pt_vxlan {
  __u32 flags_be; /* flag byte, 24 reserved bits */
  __u32 vni_be;   /* VNI, 8 reserved bits */
};
#define PT_VXLAN_FLAG_VNI 0x08

struct pt_tunnel {
  __u32 vni;
  __u32 length; /* of everything in front of the inner frame */
  __u8 flags;
};

/* Our IPv4 VXLAN headers, all that we put in front of an inner frame. */
struct pt_envelope {
  struct pt_ethernet ethernet;
  struct pt_ipv4 ip;
  struct pt_udp udp;
  struct pt_vxlan vxlan;
} __attribute__((packed, aligned(2)));

#define PT_DYNAMIC_PORTS 49152 /* RFC 7348 4.1: the source port comes from here */

PT_STAGE bool pt_is_underlay_address(const struct pt_packet* packet, const struct pt_address* address) {
  const struct pt_gateway* us = packet->generation.gateway;
  bool found = false;
  for (int i = 0; i < PT_MAX_UNDERLAY_ADDRESSES; i++)
    found |= pt_same_address(&us->underlay[i], address);
  return found && !pt_no_address(address);
}

/* True as well for a UDP header that is cut short, which nobody may take for another port's. */
PT_STAGE bool pt_is_to_port(struct xdp_md* ctx, const struct pt_flow* flow, __u16 port_be) {
  struct pt_udp copy;
  if (flow->transport_offset > PT_FARTHEST_HEADER) return true;
  const struct pt_udp* udp = PT_READ(ctx, flow->transport_offset, copy);
  return !udp || flow->payload_length < sizeof(*udp) || udp->destination_be == port_be;
}

/* For our tunnel port, or a piece that could be: fragments, options and extension headers cannot hide it. */
PT_STAGE bool pt_for_tunnel(const struct pt_packet* packet, const struct pt_flow* outer) {
  if (!pt_is_underlay_address(packet, &outer->destination)) return false;
  if (outer->fragment) return true;
  if (outer->next_header != PT_IP_UDP) return false;
  return pt_is_to_port(packet->ctx, outer, packet->generation.gateway->tunnel_port_be);
}

/* Reads the tunnel headers of a packet that is pt_for_tunnel. */
PT_STAGE int pt_tunnel_read(const struct pt_packet* packet, const struct pt_link* link,
                            const struct pt_flow* outer, struct pt_tunnel* tunnel) {
  if (link->tags) return -PT_DROP_VLAN_TAG;
  if (outer->fragment) return -PT_DROP_FRAGMENT;
  if (outer->options) return -PT_DROP_UNKNOWN_HEADER;
  if (!packet->generation.gateway->open) return -PT_DROP_CLOSED;

  const __u32 headers = sizeof(struct pt_udp) + sizeof(struct pt_vxlan);
  const __u32 at = sizeof(struct pt_ethernet) +
                   (outer->family == PT_FAMILY_IPV4 ? sizeof(struct pt_ipv4) : sizeof(struct pt_ipv6));
  const struct pt_udp* udp = pt_bytes(packet->ctx, at, headers);
  if (!udp && pt_length(packet->ctx) >= at + headers) return -PT_DROP_NOT_LINEAR;
  if (!udp || outer->payload_length < headers) return -PT_DROP_MALFORMED;
  if (bpf_ntohs(udp->length_be) != outer->payload_length) return -PT_DROP_MALFORMED;
  const struct pt_vxlan* vxlan = (const void*)(udp + 1);
  tunnel->flags = bpf_ntohl(vxlan->flags_be) >> 24;
  tunnel->vni = bpf_ntohl(vxlan->vni_be) >> 8;
  tunnel->length = at + headers;
  return PT_GO_ON;
}

/* From here on the packet starts with the inner frame. Pointers into it from before are void. */
PT_STAGE int pt_tunnel_strip(struct pt_packet* packet, const struct pt_tunnel* tunnel) {
  if (!bpf_xdp_adjust_head(packet->ctx, (int)tunnel->length)) return PT_GO_ON;
  const bool whole = pt_length(packet->ctx) < tunnel->length + sizeof(struct pt_ethernet);
  return whole ? -PT_DROP_MALFORMED : -PT_DROP_NOT_LINEAR;
}

/* Spreads inner flows over the underlay's paths and receive queues; not secret, not an identity. */
PT_STAGE __u16 pt_flow_port(const struct pt_flow* flow) {
  const pt_word64* source = (const pt_word64*)flow->source.bytes;
  const pt_word64* destination = (const pt_word64*)flow->destination.bytes;
  __u64 hash = (source[0] ^ source[1]) * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 29 ^ destination[0] ^ destination[1]) * 0xbf58476d1ce4e5b9ull;
  hash ^= (__u64)flow->source_port << 32 | (__u64)flow->next_header << 16;
  if (flow->protocol <= PT_PROTO_UDP) hash ^= flow->destination_port;
  hash = (hash ^ hash >> 31) * 0x94d049bb133111ebull;
  return PT_DYNAMIC_PORTS | (hash >> 40 & (65535 - PT_DYNAMIC_PORTS));
}

/* The way to a peer for the frame as it is. The underlay is IPv4 for now. */
PT_STAGE int pt_tunnel_route(const struct pt_packet* packet, const struct pt_endpoint* endpoint, __u8 tos,
                             __u16 source_port, struct bpf_fib_lookup* fib) {
  const struct pt_envelope* no_envelope = NULL;
  if (!pt_is_mapped(&endpoint->remote) || !pt_is_mapped(&endpoint->local)) return -PT_DROP_NO_FIB_ROUTE;
  const __u32 total = pt_length(packet->ctx) + sizeof(*no_envelope) - sizeof(no_envelope->ethernet);
  if (total > 0xffff) return -PT_DROP_TOO_BIG;
  fib->family = PT_FAMILY_IPV4;
  fib->l4_protocol = PT_IP_UDP;
  fib->sport = bpf_htons(source_port);
  fib->dport = packet->generation.gateway->tunnel_port_be;
  fib->tot_len = total;
  fib->tos = tos;
  fib->ipv4_src = pt_mapped_ipv4(&endpoint->local);
  fib->ipv4_dst = pt_mapped_ipv4(&endpoint->remote);
  PT_TRY(pt_route(packet, fib));
  return pt_egress(packet, fib->ifindex, PT_ROLE_UNDERLAY, PT_VNI_ANY);
}

PT_STAGE void pt_envelope_ip(struct pt_ipv4* ip, const struct pt_endpoint* endpoint, __u32 total, __u8 tos) {
  ip->version_length = 0x45;
  ip->tos = tos;
  ip->total_length_be = bpf_htons(total);
  ip->id_be = 0;
  ip->fragment_be = bpf_htons(0x4000); /* don't fragment: RFC 6864 then allows a constant id */
  ip->ttl = 64;
  ip->protocol = PT_IP_UDP;
  ip->checksum = 0;
  ip->source_be = pt_mapped_ipv4(&endpoint->local);
  ip->destination_be = pt_mapped_ipv4(&endpoint->remote);
  const __u64 sum = (__u64)bpf_htons(0x4500 | tos) + ip->total_length_be + ip->fragment_be +
                    bpf_htons(64 << 8 | PT_IP_UDP) + ip->source_be + (__u64)ip->destination_be;
  ip->checksum = ~pt_fold(sum);
}

/* Puts the tunnel headers in front of a frame whose inner MACs are set, and sends it to the endpoint. */
PT_STAGE int pt_tunnel_send(struct pt_packet* packet, const struct pt_endpoint* endpoint, __u8 tos,
                            __u16 source_port, const struct bpf_fib_lookup* fib, int verdict) {
  const __u32 inner = pt_length(packet->ctx);
  if (bpf_xdp_adjust_head(packet->ctx, -(int)sizeof(struct pt_envelope))) return -PT_DROP_NO_HEADROOM;
  struct pt_envelope* envelope = PT_HEADER(packet->ctx, 0, struct pt_envelope);
  if (!envelope) return -PT_DROP_NO_HEADROOM;
  const __u32 total = inner + sizeof(*envelope) - sizeof(envelope->ethernet);
  pt_write_ethernet(&envelope->ethernet, fib);
  envelope->ethernet.type_be = bpf_htons(PT_ETHERTYPE_IPV4);
  pt_envelope_ip(&envelope->ip, endpoint, total, tos);
  envelope->udp.source_be = bpf_htons(source_port);
  envelope->udp.destination_be = packet->generation.gateway->tunnel_port_be;
  envelope->udp.length_be = bpf_htons(total - sizeof(envelope->ip));
  envelope->udp.checksum = 0;
  envelope->vxlan.flags_be = bpf_htonl((__u32)PT_VXLAN_FLAG_VNI << 24);
  envelope->vxlan.vni_be = bpf_htonl(packet->vni << 8);
  return pt_leave_by(egress_underlay, fib->ifindex, verdict);
}

#endif
