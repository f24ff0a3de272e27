/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Echo requests that come through a tunnel to the gateway's own address of the segment (SPEC 1.9): judged
 * like any other packet, then turned round in place and sent back. The host's stack is no way to answer them,
 * since what it sends does not pass the packet path. Anything else to that address has no receiver.
 */
#ifndef POSTERN_ECHO_H
#define POSTERN_ECHO_H

#include "neighbour.h"

#define PT_ECHO_TTL 64
#define PT_ECHO_REQUEST 8
#define PT_ECHO_REPLY 0
#define PT_ECHO6_REQUEST 128
#define PT_ECHO6_REPLY 129

PT_STAGE int pt_turn_icmp(struct pt_icmp* icmp, __u8 reply) {
  const __u16 asked = bpf_htons(icmp->type << 8);
  icmp->type = reply;
  icmp->checksum = pt_checksum_with(icmp->checksum, asked, bpf_htons(reply << 8));
  return PT_GO_ON;
}

PT_STAGE int pt_turn_ipv4(struct xdp_md* ctx) {
  struct pt_ipv4* ip = PT_HEADER(ctx, sizeof(struct pt_ethernet), struct pt_ipv4);
  struct pt_icmp* icmp = PT_HEADER(ctx, sizeof(struct pt_ethernet) + sizeof(*ip), struct pt_icmp);
  if (!ip || !icmp) return -PT_DROP_MALFORMED;
  const __u32 asker = ip->source_be;
  const __u16 old = bpf_htons(ip->ttl << 8 | ip->protocol);
  ip->source_be = ip->destination_be;
  ip->destination_be = asker;
  ip->ttl = PT_ECHO_TTL;
  ip->checksum = pt_checksum_with(ip->checksum, old, bpf_htons(PT_ECHO_TTL << 8 | PT_IP_ICMP));
  return pt_turn_icmp(icmp, PT_ECHO_REPLY);
}

PT_STAGE int pt_turn_ipv6(struct xdp_md* ctx, const struct pt_flow* flow) {
  struct pt_ipv6* ip = PT_HEADER(ctx, sizeof(struct pt_ethernet), struct pt_ipv6);
  struct pt_icmp* icmp = PT_HEADER(ctx, sizeof(struct pt_ethernet) + sizeof(*ip), struct pt_icmp);
  if (!ip || !icmp) return -PT_DROP_MALFORMED;
  __builtin_memcpy(ip->source_be, &flow->destination, sizeof(ip->source_be));
  __builtin_memcpy(ip->destination_be, &flow->source, sizeof(ip->destination_be));
  ip->hop_limit = PT_ECHO_TTL;
  return pt_turn_icmp(icmp, PT_ECHO6_REPLY);
}

/* Turns an echo request round in place; anything else is not answered here. */
PT_FUNCTION int pt_turn_echo(struct xdp_md* ctx, const struct pt_flow* flow) {
  if (!flow) return -PT_DROP_MALFORMED;
  const bool asked4 = flow->protocol == PT_PROTO_ICMP && flow->destination_port == PT_ECHO_REQUEST << 8;
  const bool asked6 = flow->protocol == PT_PROTO_ICMPV6 && flow->destination_port == PT_ECHO6_REQUEST << 8;
  if (!asked4 && !asked6) return -PT_DROP_NO_FIB_ROUTE;
  if (flow->options) return -PT_DROP_UNKNOWN_HEADER;
  if (flow->fragment) return -PT_DROP_FRAGMENT;
  PT_TRY(asked4 ? pt_turn_ipv4(ctx) : pt_turn_ipv6(ctx, flow));
  struct pt_ethernet* ethernet = PT_HEADER(ctx, 0, struct pt_ethernet);
  if (!ethernet) return -PT_DROP_MALFORMED;
  const struct pt_ethernet asked = *ethernet;
  pt_copy_mac(ethernet->destination, asked.source);
  pt_copy_mac(ethernet->source, asked.destination);
  return PT_ANSWER;
}

PT_STAGE int pt_answer_echo(struct pt_packet* packet, const struct pt_flow* flow) {
  packet->answer_tos = flow->tos;
  return pt_turn_echo(packet->ctx, flow);
}

#endif
