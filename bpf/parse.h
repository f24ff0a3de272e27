/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Link and network headers into struct pt_link and struct pt_flow, the same for outer, inner, local and
 * quoted packets (SPEC 1.2). transport.h reads on from there.
 *
 * It comes in two steps, because many packets are judged by their addresses alone: pt_parse_ip checks what
 * every receiver must (lengths, versions, source routes), and walks to the transport header;
 * pt_parse_transport is strict and refuses what could get a packet past a policy.
 *
 * pt_parse_ip and what it calls are functions of their own, which the verifier looks at once, and not once
 * for each place and each way that leads there. Headers are read where they lie; those that a driver put
 * behind the first buffer of a frame are copied (pt_read).
 */
#ifndef POSTERN_PARSE_H
#define POSTERN_PARSE_H

#include "packet.h"

PT_STAGE bool pt_is_vlan(__u16 type) {
  return type == PT_ETHERTYPE_VLAN || type == PT_ETHERTYPE_QINQ;
}

/* At most PT_MAX_VLAN_TAGS; a further one is refused, since nobody could tell what is behind it. */
PT_FUNCTION int pt_parse_link(struct xdp_md* ctx, struct pt_link* link) {
  if (!link) return -PT_DROP_MALFORMED;
  const struct pt_ethernet* ethernet = PT_HEADER(ctx, 0, struct pt_ethernet);
  if (!ethernet) return -PT_DROP_MALFORMED;
  const __u16* to = ethernet->destination;
  link->group = *(const __u8*)to & 1;
  link->broadcast = (to[0] & to[1] & to[2]) == 0xffff;
  link->multicast6 = to[0] == bpf_htons(0x3333);
  link->type = bpf_ntohs(ethernet->type_be);
  link->offset = sizeof(*ethernet);
  link->tags = 0;
#pragma unroll
  for (int i = 0; i < PT_MAX_VLAN_TAGS; i++) {
    if (!pt_is_vlan(link->type)) return PT_GO_ON;
    const struct pt_vlan* vlan = PT_HEADER(ctx, link->offset, struct pt_vlan);
    if (!vlan) return -PT_DROP_MALFORMED;
    link->type = bpf_ntohs(vlan->type_be);
    link->offset += sizeof(*vlan);
    link->tags++;
  }
  return pt_is_vlan(link->type) ? -PT_DROP_VLAN_TAG : PT_GO_ON;
}

#define PT_IPV4_OPTIONS_BYTES 40
#define PT_OPTION_END 0
#define PT_OPTION_NOP 1
#define PT_OPTION_LOOSE_ROUTE 131
#define PT_OPTION_STRICT_ROUTE 137

/* Options are left as they are; a source route among them, or a length that makes no sense, ends the packet.
 */
PT_FUNCTION int pt_check_options(struct xdp_md* ctx, __u32 offset, __u32 length) {
  __u8 options[PT_IPV4_OPTIONS_BYTES + 1] = {};
  if (length < 4 || length > PT_IPV4_OPTIONS_BYTES) return -PT_DROP_MALFORMED;
  if (bpf_xdp_load_bytes(ctx, offset, options, length)) return -PT_DROP_MALFORMED;
  __u32 next = 0;
  for (__u32 at = 0; at < PT_IPV4_OPTIONS_BYTES; at++) {
    if (at >= length || at != next) continue;
    const __u8 kind = options[at];
    if (kind == PT_OPTION_END) break;
    if (kind == PT_OPTION_LOOSE_ROUTE || kind == PT_OPTION_STRICT_ROUTE) return -PT_DROP_SOURCE_ROUTE;
    const __u32 size = kind == PT_OPTION_NOP ? 1 : options[at + 1];
    if (kind != PT_OPTION_NOP && (size < 2 || at + size > length)) return -PT_DROP_MALFORMED;
    next = pt_unknown(at + size);
  }
  return PT_GO_ON;
}

/* `offset_units` is the fragment's place in eights of bytes. A TCP fragment at 1 would rewrite the flags of
 * the header in front of it (RFC 1858), whatever the rules say. */
PT_STAGE int pt_note_fragment(struct pt_flow* flow, __u32 offset_units, bool more) {
  if (!offset_units && !more) return PT_GO_ON;
  if (flow->quoted) {
    flow->fragment = offset_units ? PT_FRAGMENT_LATER : PT_FRAGMENT_FIRST;
    return PT_GO_ON;
  }
  if (offset_units * 8 + flow->payload_length > 0xffff) return -PT_DROP_MALFORMED;
  if (offset_units == 1 && flow->next_header == PT_IP_TCP) return -PT_DROP_MALFORMED;
  flow->fragment = offset_units ? PT_FRAGMENT_LATER : PT_FRAGMENT_FIRST;
  return PT_GO_ON;
}

PT_STAGE int pt_parse_ipv4(struct xdp_md* ctx, __u32 offset, struct pt_flow* flow) {
  struct pt_ipv4 copy;
  const struct pt_ipv4* ip = PT_READ(ctx, offset, copy);
  if (!ip) return -PT_DROP_MALFORMED;
  const __u32 header = (ip->version_length & 0xf) * 4;
  const __u32 total = bpf_ntohs(ip->total_length_be);
  const __u32 place = bpf_ntohs(ip->fragment_be);
  if (ip->version_length >> 4 != 4 || header < sizeof(*ip) || total < header) return -PT_DROP_MALFORMED;
  const __u32 present = pt_length(ctx) - offset;
  if ((flow->quoted ? header : total) > present) return -PT_DROP_MALFORMED;

  flow->family = PT_FAMILY_IPV4;
  flow->next_header = ip->protocol;
  flow->ttl = ip->ttl;
  flow->tos = ip->tos;
  flow->options = header > sizeof(*ip);
  flow->dont_fragment = place & 0x4000;
  flow->total_length = total;
  flow->payload_length = total - header;
  flow->transport_offset = offset + header;
  pt_map_ipv4(&flow->source, ip->source_be);
  pt_map_ipv4(&flow->destination, ip->destination_be);
  if (flow->options) PT_TRY(pt_check_options(ctx, offset + sizeof(*ip), header - sizeof(*ip)));
  return pt_note_fragment(flow, place & 0x1fff, place & 0x2000);
}

/* The first bytes of every extension header; what follows them depends on which it is. */
struct pt_extension {
  __u8 next_header;
  __u8 length;   /* in eights of bytes behind the first eight; AH: in words behind the first two */
  __u16 rest_be; /* fragment: place << 3 | more; routing: type << 8 | segments left */
};
#define PT_EXTENSION_HOP_BY_HOP 0
#define PT_EXTENSION_ROUTING 43
#define PT_EXTENSION_FRAGMENT 44
#define PT_EXTENSION_AUTHENTICATION 51
#define PT_EXTENSION_DESTINATION 60
#define PT_EXTENSION_MOBILITY 135
#define PT_EXTENSION_HOST_IDENTITY 139
#define PT_EXTENSION_SHIM6 140

/* RFC 8200 and the protocols that IANA lists as extension headers; ESP hides its payload and counts as a
 * transport. */
PT_STAGE bool pt_is_extension(__u8 next_header) {
  switch (next_header) {
    case PT_EXTENSION_HOP_BY_HOP:
    case PT_EXTENSION_ROUTING:
    case PT_EXTENSION_FRAGMENT:
    case PT_EXTENSION_AUTHENTICATION:
    case PT_EXTENSION_DESTINATION:
    case PT_EXTENSION_MOBILITY:
    case PT_EXTENSION_HOST_IDENTITY:
    case PT_EXTENSION_SHIM6:
      return true;
    default:
      return false;
  }
}

PT_STAGE __u32 pt_extension_size(__u8 kind, const struct pt_extension* header) {
  if (kind == PT_EXTENSION_FRAGMENT) return 8;
  if (kind == PT_EXTENSION_AUTHENTICATION) return (header->length + 2) * 4; /* RFC 4302 2.2 */
  return (header->length + 1) * 8;
}

/* Walks from the first extension header to the transport's. A later fragment's chain ends at its fragment
 * header: what follows is the middle of something. */
PT_FUNCTION int pt_walk_extensions(struct xdp_md* ctx, struct pt_flow* flow) {
  if (!flow) return -PT_DROP_MALFORMED;
  for (int i = 0; i < PT_MAX_EXTENSION_HEADERS; i++) {
    struct pt_extension header;
    const __u8 kind = flow->next_header;
    if (bpf_xdp_load_bytes(ctx, flow->transport_offset, &header, sizeof(header))) return -PT_DROP_MALFORMED;
    const __u32 size = pt_extension_size(kind, &header);
    const __u32 rest = bpf_ntohs(header.rest_be);
    if (size > flow->payload_length) return -PT_DROP_MALFORMED;
    if (kind == PT_EXTENSION_ROUTING && (rest & 0xff || rest >> 8 == 0)) return -PT_DROP_SOURCE_ROUTE;
    flow->next_header = header.next_header;
    flow->transport_offset += size;
    flow->payload_length -= size;
    if (kind == PT_EXTENSION_FRAGMENT) PT_TRY(pt_note_fragment(flow, rest >> 3, rest & 1));
    if (flow->fragment == PT_FRAGMENT_LATER || !pt_is_extension(flow->next_header)) return PT_GO_ON;
  }
  return -PT_DROP_TOO_MANY_HEADERS;
}

PT_STAGE int pt_parse_ipv6(struct xdp_md* ctx, __u32 offset, struct pt_flow* flow) {
  struct pt_ipv6 copy;
  const struct pt_ipv6* ip = PT_READ(ctx, offset, copy);
  if (!ip) return -PT_DROP_MALFORMED;
  const __u32 word = bpf_ntohl(ip->version_class_flow_be);
  const __u32 total = bpf_ntohs(ip->payload_length_be) + sizeof(*ip);
  const __u32 present = pt_length(ctx) - offset;
  if (word >> 28 != 6 || total > 0xffff) return -PT_DROP_MALFORMED;
  if ((flow->quoted ? sizeof(*ip) : total) > present) return -PT_DROP_MALFORMED;

  flow->family = PT_FAMILY_IPV6;
  flow->next_header = ip->next_header;
  flow->ttl = ip->hop_limit;
  flow->tos = word >> 20 & 0xff;
  flow->options = pt_is_extension(ip->next_header);
  flow->dont_fragment = true;
  flow->total_length = total;
  flow->payload_length = total - sizeof(*ip);
  flow->transport_offset = offset + sizeof(*ip);
  __builtin_memcpy(&flow->source, ip->source_be, sizeof(flow->source));
  __builtin_memcpy(&flow->destination, ip->destination_be, sizeof(flow->destination));
  /* On the wire such an address is forged (RFC 4291 2.5.5.2), and in the tables it would pass for an IPv4
   * one. */
  if (pt_is_mapped(&flow->source) || pt_is_mapped(&flow->destination)) return -PT_DROP_MALFORMED;
  return flow->options ? pt_walk_extensions(ctx, flow) : PT_GO_ON;
}

PT_STAGE bool pt_is_ip(__u16 type) {
  return type == PT_ETHERTYPE_IPV4 || type == PT_ETHERTYPE_IPV6;
}

#define PT_FARTHEST_HEADER 20480 /* outer and inner headers with every extension header at its longest */

/* `type` must be pt_is_ip. All of `flow` but `quoted` must be zero. */
PT_FUNCTION int pt_parse_ip(struct xdp_md* ctx, __u32 type, __u32 offset, struct pt_flow* flow) {
  if (!flow || offset > PT_FARTHEST_HEADER) return -PT_DROP_MALFORMED;
  return type == PT_ETHERTYPE_IPV4 ? pt_parse_ipv4(ctx, offset, flow) : pt_parse_ipv6(ctx, offset, flow);
}

/* Addresses that no forwarded packet has. */
PT_STAGE bool pt_is_multicast(__u8 family, const struct pt_address* address) {
  if (family == PT_FAMILY_IPV6) return address->bytes[0] == 0xff;
  return (address->bytes[12] & 0xf0) == 0xe0 || pt_mapped_ipv4(address) == 0xffffffff;
}

/* Link-local, loopback and unspecified. */
PT_STAGE bool pt_is_link_local(__u8 family, const struct pt_address* address) {
  const __u8* b = address->bytes;
  if (family == PT_FAMILY_IPV4) return b[12] == 0 || b[12] == 127 || (b[12] == 169 && b[13] == 254);
  if (b[0] == 0xfe && (b[1] & 0xc0) == 0x80) return true;
  const pt_word64* words = (const pt_word64*)b;
  return words[0] == 0 && (words[1] & ~bpf_cpu_to_be64(1)) == 0;
}

#endif
