/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Headers into struct pt_flow, the same for outer, inner and local packets (SPEC 1.2).
 *
 * It comes in two steps, because many packets are judged by their addresses alone: pt_parse_ip checks what
 * every receiver must (lengths, versions) and notes what hides the transport header; pt_parse_transport is
 * strict and refuses what could get a packet past a policy: fragments, options, extension headers, cut or
 * unknown transports.
 */
#ifndef POSTERN_PARSE_H
#define POSTERN_PARSE_H

#include "packet.h"

struct pt_link {
  __u16 type;   /* behind all tags */
  __u8 tags;    /* VLAN tags in front of it */
  __u32 offset; /* of what follows */
  bool group;   /* sent to a multicast or broadcast MAC */
  bool broadcast;
  bool multicast6; /* 33:33:..., RFC 2464 */
};

PT_STAGE bool pt_is_vlan(__u16 type) {
  return type == PT_ETHERTYPE_VLAN || type == PT_ETHERTYPE_QINQ;
}

/* At most PT_MAX_VLAN_TAGS; a further one is refused, since nobody could tell what is behind it. */
PT_STAGE int pt_parse_link(struct xdp_md* ctx, struct pt_link* link) {
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

PT_STAGE int pt_parse_ipv4(struct xdp_md* ctx, __u32 offset, struct pt_flow* flow) {
  const struct pt_ipv4* ip = PT_HEADER(ctx, offset, struct pt_ipv4);
  if (!ip) return -PT_DROP_MALFORMED;
  const __u32 header = (ip->version_length & 0xf) * 4;
  const __u32 total = bpf_ntohs(ip->total_length_be);
  if (ip->version_length >> 4 != 4 || header < sizeof(*ip)) return -PT_DROP_MALFORMED;
  if (total < header || total > pt_length(ctx) - offset) return -PT_DROP_MALFORMED;

  flow->family = PT_FAMILY_IPV4;
  flow->next_header = ip->protocol;
  flow->ttl = ip->ttl;
  flow->tos = ip->tos;
  flow->fragment = (ip->fragment_be & bpf_htons(0x3fff)) != 0; /* more to come, or not the first */
  flow->options = header > sizeof(*ip);
  flow->total_length = total;
  flow->payload_length = total - header;
  flow->transport_offset = offset + sizeof(*ip);
  pt_map_ipv4(&flow->source, ip->source_be);
  pt_map_ipv4(&flow->destination, ip->destination_be);
  return PT_GO_ON;
}

/* RFC 8200 and the protocols that IANA lists as extension headers; ESP hides its payload and counts as a
 * transport. */
PT_STAGE bool pt_is_extension(__u8 next_header) {
  switch (next_header) {
    case 0:   /* hop-by-hop */
    case 43:  /* routing */
    case 51:  /* authentication */
    case 60:  /* destination options */
    case 135: /* mobility */
    case 139: /* host identity */
    case 140: /* shim6 */
      return true;
    default:
      return false;
  }
}

PT_STAGE int pt_parse_ipv6(struct xdp_md* ctx, __u32 offset, struct pt_flow* flow) {
  const struct pt_ipv6* ip = PT_HEADER(ctx, offset, struct pt_ipv6);
  if (!ip) return -PT_DROP_MALFORMED;
  const __u32 word = bpf_ntohl(ip->version_class_flow_be);
  const __u32 payload = bpf_ntohs(ip->payload_length_be);
  if (word >> 28 != 6 || payload + sizeof(*ip) > pt_length(ctx) - offset) return -PT_DROP_MALFORMED;
  if (payload + sizeof(*ip) > 0xffff) return -PT_DROP_MALFORMED;

  flow->family = PT_FAMILY_IPV6;
  flow->next_header = ip->next_header;
  flow->ttl = ip->hop_limit;
  flow->tos = word >> 20 & 0xff;
  flow->fragment = ip->next_header == PT_IP_FRAGMENT;
  flow->options = pt_is_extension(ip->next_header);
  flow->total_length = payload + sizeof(*ip);
  flow->payload_length = payload;
  flow->transport_offset = offset + sizeof(*ip);
  __builtin_memcpy(&flow->source, ip->source_be, sizeof(flow->source));
  __builtin_memcpy(&flow->destination, ip->destination_be, sizeof(flow->destination));
  /* On the wire such an address is forged (RFC 4291 2.5.5.2), and in the tables it would pass for an IPv4
   * one. */
  if (pt_is_mapped(&flow->source) || pt_is_mapped(&flow->destination)) return -PT_DROP_MALFORMED;
  return PT_GO_ON;
}

PT_STAGE bool pt_is_ip(__u16 type) {
  return type == PT_ETHERTYPE_IPV4 || type == PT_ETHERTYPE_IPV6;
}

/* `type` must be pt_is_ip. */
PT_STAGE int pt_parse_ip(struct xdp_md* ctx, __u16 type, __u32 offset, struct pt_flow* flow) {
  flow->source_port = 0;
  flow->destination_port = 0;
  flow->protocol = 0;
  flow->neighbour = false;
  flow->reply = false;
  return type == PT_ETHERTYPE_IPV4 ? pt_parse_ipv4(ctx, offset, flow) : pt_parse_ipv6(ctx, offset, flow);
}

PT_STAGE int pt_parse_tcp(struct xdp_md* ctx, struct pt_flow* flow) {
  const struct pt_tcp* tcp = PT_HEADER(ctx, flow->transport_offset, struct pt_tcp);
  if (!tcp || flow->payload_length < sizeof(*tcp)) return -PT_DROP_MALFORMED;
  const __u32 header = (tcp->offset >> 4) * 4;
  if (header < sizeof(*tcp) || header > flow->payload_length) return -PT_DROP_MALFORMED;
  flow->protocol = PT_PROTO_TCP;
  flow->source_port = bpf_ntohs(tcp->source_be);
  flow->destination_port = bpf_ntohs(tcp->destination_be);
  flow->reply = (tcp->flags & 0x14) != 0; /* ACK, RST */
  return PT_GO_ON;
}

PT_STAGE int pt_parse_udp(struct xdp_md* ctx, struct pt_flow* flow) {
  const struct pt_udp* udp = PT_HEADER(ctx, flow->transport_offset, struct pt_udp);
  if (!udp || flow->payload_length < sizeof(*udp)) return -PT_DROP_MALFORMED;
  const __u32 length = bpf_ntohs(udp->length_be);
  if (length < sizeof(*udp) || length > flow->payload_length) return -PT_DROP_MALFORMED;
  flow->protocol = PT_PROTO_UDP;
  flow->source_port = bpf_ntohs(udp->source_be);
  flow->destination_port = bpf_ntohs(udp->destination_be);
  return PT_GO_ON;
}

PT_STAGE int pt_parse_icmp(struct xdp_md* ctx, struct pt_flow* flow) {
  const struct pt_icmp* icmp = PT_HEADER(ctx, flow->transport_offset, struct pt_icmp);
  if (!icmp || flow->payload_length < sizeof(*icmp)) return -PT_DROP_MALFORMED;
  flow->protocol = flow->family == PT_FAMILY_IPV4 ? PT_PROTO_ICMP : PT_PROTO_ICMPV6;
  flow->destination_port = icmp->type << 8 | icmp->code;
  flow->neighbour = flow->family == PT_FAMILY_IPV6 && icmp->type >= 133 && icmp->type <= 137;
  return PT_GO_ON;
}

PT_STAGE int pt_parse_transport(struct xdp_md* ctx, struct pt_flow* flow) {
  if (flow->fragment) return -PT_DROP_FRAGMENT;
  if (flow->options) return -PT_DROP_UNKNOWN_HEADER;
  if (flow->next_header == PT_IP_TCP) return pt_parse_tcp(ctx, flow);
  if (flow->next_header == PT_IP_UDP) return pt_parse_udp(ctx, flow);
  const __u8 icmp = flow->family == PT_FAMILY_IPV4 ? PT_IP_ICMP : PT_IP_ICMPV6;
  return flow->next_header == icmp ? pt_parse_icmp(ctx, flow) : -PT_DROP_L4_UNSUPPORTED;
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
