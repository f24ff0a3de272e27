/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * VXLAN (RFC 7348) and Geneve (geneve.h): recognised and taken off (SPEC 1.8). envelope.h puts them on.
 *
 * The tunnel headers are taken off as soon as a packet is admitted, so that the stages behind see one kind of
 * frame, inner or local, at the packet's start; a relayed packet gets new ones at the same cost as a local
 * one, and always finds the room that the old ones left.
 *
 * The outer UDP checksum is not looked at: RFC 7348 and RFC 6935 let a receiver ignore it, and the inner
 * packet has its own.
 */
#ifndef POSTERN_TUNNEL_H
#define POSTERN_TUNNEL_H

#include "geneve.h"
#include "transport.h"

struct pt_vxlan {
  __u32 flags_be; /* flag byte, 24 reserved bits */
  __u32 vni_be;   /* VNI, 8 reserved bits */
};
#define PT_VXLAN_FLAG_VNI 0x08

#define PT_DYNAMIC_PORTS 49152 /* RFC 7348 4.1: the source port comes from here */

PT_FUNCTION int pt_is_address_of(const struct pt_gateway* us, const struct pt_address* address) {
  if (!us || !address) return false;
  bool found = false;
  for (int i = 0; i < PT_MAX_UNDERLAY_ADDRESSES; i++)
    found |= pt_same_address(&us->underlay[i], address);
  return found && !pt_no_address(address);
}

PT_STAGE bool pt_is_underlay_address(const struct pt_packet* packet, const struct pt_address* address) {
  return pt_is_address_of(packet->generation.gateway, address);
}

/* True as well for a UDP header that is cut short, which nobody may take for another port's. */
PT_FUNCTION int pt_is_to_port(struct xdp_md* ctx, const struct pt_flow* flow, __u32 port_be) {
  struct pt_udp copy;
  if (!flow || flow->transport_offset > PT_FARTHEST_HEADER) return true;
  const struct pt_udp* udp = PT_READ(ctx, flow->transport_offset, copy);
  return !udp || flow->payload_length < sizeof(*udp) || udp->destination_be == port_be;
}

/* For one of our tunnel ports, or a piece that could be: fragments, options and extension headers cannot hide
 * it. */
PT_STAGE bool pt_for_tunnel(const struct pt_packet* packet, const struct pt_flow* outer) {
  if (!pt_is_underlay_address(packet, &outer->destination)) return false;
  if (outer->fragment) return true;
  if (outer->next_header != PT_IP_UDP) return false;
  return pt_is_to_port(packet->ctx, outer, packet->generation.gateway->tunnel_port_be) ||
         pt_is_to_port(packet->ctx, outer, packet->generation.gateway->geneve_port_be);
}

/* Reads the tunnel headers of a packet that is pt_for_tunnel. */
PT_STAGE int pt_tunnel_read(const struct pt_packet* packet, const struct pt_link* link,
                            const struct pt_flow* outer, struct pt_tunnel* tunnel) {
  if (link->tags) return -PT_DROP_VLAN_TAG;
  if (outer->fragment) return -PT_DROP_FRAGMENT;
  if (outer->options) return -PT_DROP_UNKNOWN_HEADER;
  if (!pt_is_open(&packet->generation)) return -PT_DROP_CLOSED;

  const __u32 headers = sizeof(struct pt_udp) + sizeof(struct pt_vxlan);
  const __u32 at = sizeof(struct pt_ethernet) +
                   (outer->family == PT_FAMILY_IPV4 ? sizeof(struct pt_ipv4) : sizeof(struct pt_ipv6));
  const struct pt_udp* udp = pt_bytes(packet->ctx, at, headers);
  if (!udp && pt_length(packet->ctx) >= at + headers) return -PT_DROP_NOT_LINEAR;
  if (!udp || outer->payload_length < headers) return -PT_DROP_MALFORMED;
  if (bpf_ntohs(udp->length_be) != outer->payload_length) return -PT_DROP_MALFORMED;
  const struct pt_vxlan* vxlan = (const void*)(udp + 1);
  tunnel->vni = bpf_ntohl(vxlan->vni_be) >> 8;
  tunnel->length = at + headers;
  tunnel->known = bpf_ntohl(vxlan->flags_be) >> 24 == PT_VXLAN_FLAG_VNI;
  if (udp->destination_be != packet->generation.gateway->geneve_port_be) return PT_GO_ON;
  const struct pt_geneve* geneve = (const void*)vxlan;
  tunnel->known = pt_geneve_known(geneve);
  tunnel->options = (geneve->version_length & 0x3f) * 4;
  tunnel->length += tunnel->options;
  return outer->payload_length < headers + tunnel->options ? -PT_DROP_MALFORMED : PT_GO_ON;
}

/* From here on the packet starts with the inner frame. Pointers into it from before are void. */
PT_STAGE int pt_tunnel_strip(struct pt_packet* packet, const struct pt_tunnel* tunnel) {
  if (!bpf_xdp_adjust_head(packet->ctx, (int)tunnel->length)) return PT_GO_ON;
  const bool whole = pt_length(packet->ctx) < tunnel->length + sizeof(struct pt_ethernet);
  return whole ? -PT_DROP_MALFORMED : -PT_DROP_NOT_LINEAR;
}

/* Spreads inner flows over the underlay's paths and receive queues; not secret, not an identity. */
PT_FUNCTION int pt_flow_port(const struct pt_flow* flow) {
  if (!flow) return PT_DYNAMIC_PORTS;
  const pt_word64* source = (const pt_word64*)flow->source.bytes;
  const pt_word64* destination = (const pt_word64*)flow->destination.bytes;
  __u64 hash = (source[0] ^ source[1]) * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 29 ^ destination[0] ^ destination[1]) * 0xbf58476d1ce4e5b9ull;
  hash ^= (__u64)flow->source_port << 32 | (__u64)flow->next_header << 16;
  if (flow->protocol <= PT_PROTO_UDP) hash ^= flow->destination_port;
  hash = (hash ^ hash >> 31) * 0x94d049bb133111ebull;
  return PT_DYNAMIC_PORTS | (hash >> 40 & (65535 - PT_DYNAMIC_PORTS));
}

#endif
