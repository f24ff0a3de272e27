/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Congestion marks that a tunnel packet got on its way go to the packet inside (RFC 6040 4.2, SPEC 1.8). */
#ifndef POSTERN_ECN_H
#define POSTERN_ECN_H

#include "packet.h"

#define PT_ECN_MASK 3
#define PT_ECN_NONE 0
#define PT_ECN_ECT1 1
#define PT_ECN_ECT0 2
#define PT_ECN_CE 3

/* Writes `tos` into the IP header of the frame at the packet's start, which says `flow->tos` so far. */
PT_STAGE int pt_write_tos(struct xdp_md* ctx, struct pt_flow* flow, __u8 tos) {
  if (flow->family == PT_FAMILY_IPV4) {
    struct pt_ipv4* ip = PT_HEADER(ctx, sizeof(struct pt_ethernet), struct pt_ipv4);
    if (!ip) return -PT_DROP_NOT_LINEAR;
    ip->checksum = pt_checksum_with(ip->checksum, bpf_htons(flow->tos), bpf_htons(tos));
    ip->tos = tos;
  } else {
    struct pt_ipv6* ip = PT_HEADER(ctx, sizeof(struct pt_ethernet), struct pt_ipv6);
    if (!ip) return -PT_DROP_NOT_LINEAR;
    ip->version_class_flow_be ^= bpf_htonl((__u32)(flow->tos ^ tos) << 20);
  }
  flow->tos = tos;
  return PT_GO_ON;
}

/* A mark on a packet whose ends would not understand it can only be obeyed by dropping it. */
PT_FUNCTION int pt_merge_ecn(struct xdp_md* ctx, struct pt_flow* flow, __u32 outer_tos) {
  if (!flow) return -PT_DROP_MALFORMED;
  const __u8 outside = outer_tos & PT_ECN_MASK, inside = flow->tos & PT_ECN_MASK;
  if (inside == PT_ECN_NONE) return outside == PT_ECN_CE ? -PT_DROP_CONGESTION : PT_GO_ON;
  const bool marked = outside == PT_ECN_CE || (outside == PT_ECN_ECT1 && inside == PT_ECN_ECT0);
  if (!marked || inside == PT_ECN_CE) return PT_GO_ON;
  return pt_write_tos(ctx, flow, (flow->tos & ~PT_ECN_MASK) | outside);
}

#endif
