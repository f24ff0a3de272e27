/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Transport headers: ports and types by which a policy judges (SPEC 1.2). A first fragment must hold its
 * whole transport header. An ICMP error is marked, and is judged by the packet that it quotes (quote.h), of
 * whose transport there need be no more than the first eight bytes.
 */
#ifndef POSTERN_TRANSPORT_H
#define POSTERN_TRANSPORT_H

#include "parse.h"

PT_STAGE int pt_parse_tcp(struct xdp_md* ctx, struct pt_flow* flow) {
  struct pt_tcp copy;
  const struct pt_tcp* tcp = PT_READ(ctx, flow->transport_offset, copy);
  if (!tcp || flow->payload_length < sizeof(*tcp)) return -PT_DROP_MALFORMED;
  const __u32 header = (tcp->offset >> 4) * 4;
  if (header < sizeof(*tcp) || header > flow->payload_length) return -PT_DROP_MALFORMED;
  flow->protocol = PT_PROTO_TCP;
  flow->source_port = bpf_ntohs(tcp->source_be);
  flow->destination_port = bpf_ntohs(tcp->destination_be);
  flow->reply = (tcp->flags & 0x14) != 0; /* ACK, RST */
  flow->syn = tcp->flags & 0x02;
  return PT_GO_ON;
}

PT_STAGE int pt_parse_udp(struct xdp_md* ctx, struct pt_flow* flow) {
  struct pt_udp copy;
  const struct pt_udp* udp = PT_READ(ctx, flow->transport_offset, copy);
  if (!udp || flow->payload_length < sizeof(*udp)) return -PT_DROP_MALFORMED;
  const __u32 length = bpf_ntohs(udp->length_be);
  if (length < sizeof(*udp)) return -PT_DROP_MALFORMED;
  if (!flow->fragment && length > flow->payload_length) return -PT_DROP_MALFORMED;
  flow->protocol = PT_PROTO_UDP;
  flow->source_port = bpf_ntohs(udp->source_be);
  flow->destination_port = bpf_ntohs(udp->destination_be);
  return PT_GO_ON;
}

/* Errors that end systems act on. Source quench and redirects are none, and so need a rule like any other. */
PT_STAGE bool pt_is_icmp_error(__u8 family, __u8 type) {
  if (family == PT_FAMILY_IPV6) return type >= 1 && type <= 4;
  return type == 3 || type == 11 || type == 12;
}

PT_STAGE int pt_parse_icmp(struct xdp_md* ctx, struct pt_flow* flow) {
  struct pt_icmp copy;
  const struct pt_icmp* icmp = PT_READ(ctx, flow->transport_offset, copy);
  if (!icmp || flow->payload_length < sizeof(*icmp)) return -PT_DROP_MALFORMED;
  const bool six = flow->family == PT_FAMILY_IPV6;
  flow->protocol = six ? PT_PROTO_ICMPV6 : PT_PROTO_ICMP;
  flow->destination_port = icmp->type << 8 | icmp->code;
  flow->neighbour = six && icmp->type >= 133 && icmp->type <= 137;
  flow->error = pt_is_icmp_error(flow->family, icmp->type);
  return PT_GO_ON;
}

/* What eight bytes of transport tell. Whether a TCP packet was a reply they do not, so it may have been. */
PT_STAGE int pt_parse_quoted(struct xdp_md* ctx, struct pt_flow* flow) {
  struct pt_udp copy;
  const struct pt_udp* ports = PT_READ(ctx, flow->transport_offset, copy);
  if (!ports || flow->fragment == PT_FRAGMENT_LATER) return -PT_DROP_ICMP_QUOTE;
  if (flow->next_header == PT_IP_TCP || flow->next_header == PT_IP_UDP) {
    flow->protocol = flow->next_header == PT_IP_TCP ? PT_PROTO_TCP : PT_PROTO_UDP;
    flow->source_port = bpf_ntohs(ports->source_be);
    flow->destination_port = bpf_ntohs(ports->destination_be);
    flow->reply = flow->protocol == PT_PROTO_TCP;
    return PT_GO_ON;
  }
  const bool six = flow->family == PT_FAMILY_IPV6;
  if (flow->next_header != (six ? PT_IP_ICMPV6 : PT_IP_ICMP)) return -PT_DROP_L4_UNSUPPORTED;
  flow->protocol = six ? PT_PROTO_ICMPV6 : PT_PROTO_ICMP;
  flow->destination_port = bpf_ntohs(ports->source_be); /* type and code */
  flow->error = pt_is_icmp_error(flow->family, flow->destination_port >> 8);
  return flow->error ? -PT_DROP_ICMP_QUOTE : PT_GO_ON; /* RFC 1122 3.2.2: no error about an error */
}

PT_FUNCTION int pt_parse_transport(struct xdp_md* ctx, struct pt_flow* flow) {
  if (!flow || flow->transport_offset > PT_FARTHEST_HEADER) return -PT_DROP_MALFORMED;
  if (flow->quoted) return pt_parse_quoted(ctx, flow);
  if (flow->fragment == PT_FRAGMENT_LATER) return -PT_DROP_FRAGMENT;
  if (flow->fragment && flow->payload_length % 8) return -PT_DROP_MALFORMED; /* RFC 791 3.2 */
  if (flow->next_header == PT_IP_TCP) return pt_parse_tcp(ctx, flow);
  if (flow->next_header == PT_IP_UDP) return pt_parse_udp(ctx, flow);
  const __u8 icmp = flow->family == PT_FAMILY_IPV4 ? PT_IP_ICMP : PT_IP_ICMPV6;
  return flow->next_header == icmp ? pt_parse_icmp(ctx, flow) : -PT_DROP_L4_UNSUPPORTED;
}

#endif
