/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ICMP errors that the gateway sends (SPEC 1.7): time exceeded, and fragmentation needed or packet too big.
 * The frame is turned into its own error: cut to what may be quoted, new headers in front, and back to where
 * it came from, through the peer's tunnel or out of the port that it arrived by. So it needs neither memory
 * nor a route.
 *
 * Never about an ICMP error or a later fragment (RFC 1122 3.2.2, RFC 4443 2.4); what was sent to or from many
 * has been dropped before. Each CPU has its own bucket of tokens, so that nobody can have the gateway flood
 * somebody with errors.
 */
#ifndef POSTERN_ICMP_H
#define POSTERN_ICMP_H

#include "answer.h"

#define PT_QUOTE_MOST4 (576 - 28)  /* RFC 1812 4.3.2.3 */
#define PT_QUOTE_MOST6 (1280 - 48) /* RFC 4443 2.4 */
#define PT_ERROR_TTL 64

struct pt_error {
  struct pt_address from __attribute__((aligned(8)));
  struct pt_address to __attribute__((aligned(8)));
  __u32 rest_be; /* too big: the MTU */
  __u16 quoted;  /* bytes of the packet */
  __u8 family;
  __u8 type;
  __u8 code;
  __u8 pad[7];
};

struct pt_error_frame4 {
  struct pt_ethernet ethernet;
  struct pt_ipv4 ip;
  struct pt_icmp icmp;
} __attribute__((packed, aligned(2)));

struct pt_error_frame6 {
  struct pt_ethernet ethernet;
  struct pt_ipv6 ip;
  struct pt_icmp icmp;
} __attribute__((packed, aligned(2)));

/* To the MAC that the packet came from; `sum` is the quoted bytes'. */
PT_STAGE void pt_write_error_head(struct pt_ethernet* ethernet, struct pt_icmp* icmp,
                                  const struct pt_ethernet* about, const struct pt_error* error) {
  pt_copy_mac(ethernet->destination, about->source);
  pt_copy_mac(ethernet->source, about->destination);
  ethernet->type_be = about->type_be;
  icmp->type = error->type;
  icmp->code = error->code;
  icmp->rest = error->rest_be;
}

PT_STAGE int pt_write_error4(struct xdp_md* ctx, const struct pt_error* error,
                             const struct pt_ethernet* about, __u16 sum) {
  const int added = sizeof(struct pt_ipv4) + sizeof(struct pt_icmp);
  if (bpf_xdp_adjust_head(ctx, -added)) return -PT_DROP_NO_HEADROOM;
  struct pt_error_frame4* frame = PT_HEADER(ctx, 0, struct pt_error_frame4);
  if (!frame) return -PT_DROP_NO_HEADROOM;
  struct pt_ipv4* ip = &frame->ip;
  pt_write_error_head(&frame->ethernet, &frame->icmp, about, error);
  ip->version_length = 0x45;
  ip->tos = 0;
  ip->total_length_be = bpf_htons(added + error->quoted);
  ip->id_be = 0;
  ip->fragment_be = bpf_htons(0x4000);
  ip->ttl = PT_ERROR_TTL;
  ip->protocol = PT_IP_ICMP;
  ip->source_be = pt_mapped_ipv4(&error->from);
  ip->destination_be = pt_mapped_ipv4(&error->to);
  ip->checksum =
      ~pt_fold((__u64)bpf_htons(0x4500) + ip->total_length_be + ip->fragment_be +
               bpf_htons(PT_ERROR_TTL << 8 | PT_IP_ICMP) + ip->source_be + (__u64)ip->destination_be);
  frame->icmp.checksum = ~pt_fold((__u64)bpf_htons(error->type << 8 | error->code) + error->rest_be + sum);
  return PT_GO_ON;
}

PT_STAGE int pt_write_error6(struct xdp_md* ctx, const struct pt_error* error,
                             const struct pt_ethernet* about, __u16 sum) {
  const int added = sizeof(struct pt_ipv6) + sizeof(struct pt_icmp);
  if (bpf_xdp_adjust_head(ctx, -added)) return -PT_DROP_NO_HEADROOM;
  struct pt_error_frame6* frame = PT_HEADER(ctx, 0, struct pt_error_frame6);
  if (!frame) return -PT_DROP_NO_HEADROOM;
  struct pt_ipv6* ip = &frame->ip;
  pt_write_error_head(&frame->ethernet, &frame->icmp, about, error);
  ip->version_class_flow_be = bpf_htonl(6u << 28);
  ip->payload_length_be = bpf_htons(sizeof(struct pt_icmp) + error->quoted);
  ip->next_header = PT_IP_ICMPV6;
  ip->hop_limit = PT_ERROR_TTL;
  __builtin_memcpy(ip->source_be, &error->from, sizeof(ip->source_be));
  __builtin_memcpy(ip->destination_be, &error->to, sizeof(ip->destination_be));
  frame->icmp.checksum = ~pt_fold(pt_sum_address(&error->from, true) + pt_sum_address(&error->to, true) +
                                  ip->payload_length_be + bpf_htons(PT_IP_ICMPV6) +
                                  bpf_htons(error->type << 8 | error->code) + error->rest_be + (__u64)sum);
  return PT_GO_ON;
}

/* The frame at the packet's start becomes `error` about itself. On failure it is no use to anybody any more.
 */
PT_FUNCTION int pt_write_error(struct xdp_md* ctx, const struct pt_error* error) {
  struct pt_ethernet about;
  if (!error) return -PT_DROP_MALFORMED;
  const int more = (int)(sizeof(about) + error->quoted) - (int)pt_length(ctx);
  if (more > 0 || (more < 0 && bpf_xdp_adjust_tail(ctx, more))) return -PT_DROP_MALFORMED;
  if (bpf_xdp_load_bytes(ctx, 0, &about, sizeof(about))) return -PT_DROP_MALFORMED;
  const int sum = pt_sum_bytes(ctx, sizeof(about), error->quoted);
  if (sum < 0) return sum;
  if (error->family == PT_FAMILY_IPV6) return pt_write_error6(ctx, error, &about, sum);
  return pt_write_error4(ctx, error, &about, sum);
}

/* One token an error; they come back at a steady pace, up to a small store. */
PT_FUNCTION int pt_may_send_error(void) {
  const __u32 zero = 0;
  struct pt_tokens* bucket = bpf_map_lookup_elem(&icmp_tokens, &zero);
  if (!bucket) return false;
  const __u64 now_ns = bpf_ktime_get_coarse_ns();
  const __u64 earned = (now_ns - bucket->filled_ns) / PT_ICMP_TOKEN_NS;
  if (PT_DRY) return earned || bucket->tokens;
  if (earned) {
    bucket->tokens = earned + bucket->tokens < PT_ICMP_BURST ? earned + bucket->tokens : PT_ICMP_BURST;
    bucket->filled_ns = now_ns;
  }
  if (!bucket->tokens) return false;
  bucket->tokens--;
  return true;
}

/* Turns the frame into the error about its having ended as `end`; `end` if senders are not told of that. */
PT_FUNCTION int pt_make_error(struct xdp_md* ctx, const struct pt_segment* segment,
                              const struct pt_flow* flow, int end, __u32 mtu) {
  if (!segment || !flow) return end;
  const bool six = flow->family == PT_FAMILY_IPV6, too_big = end == -PT_DROP_TOO_BIG;
  if (end != -PT_DROP_TTL_EXCEEDED && !too_big) return end;
  if (flow->error || flow->fragment == PT_FRAGMENT_LATER) return end;
  if (too_big && !flow->dont_fragment) return end;
  const __u32 most = six ? PT_QUOTE_MOST6 : PT_QUOTE_MOST4;
  struct pt_error error = {
      .from = six ? segment->gateway6 : segment->gateway4,
      .to = flow->source,
      .rest_be = too_big ? bpf_htonl(mtu) : 0,
      .quoted = flow->total_length < most ? flow->total_length : most,
      .family = flow->family,
      .type = six ? (too_big ? 2 : 3) : (too_big ? 3 : 11),
      .code = too_big && !six ? 4 : 0,
  };
  if (pt_no_address(&error.from)) return end;
  if (!pt_may_send_error()) {
    pt_note(PT_INCIDENT_ICMP_LIMITED);
    return end;
  }
  return pt_write_error(ctx, &error) ? end : PT_ANSWER;
}

/* Tells the sender of a packet that ended as `end`, if that is something senders are told. */
PT_STAGE int pt_complain(struct pt_packet* packet, const struct pt_segment* segment,
                         const struct pt_flow* flow, int end) {
  if (!segment || end >= 0) return end;
  const int made = pt_make_error(packet->ctx, segment, flow, end, packet->mtu);
  if (made == PT_ANSWER) packet->refused = -end;
  return made;
}

#endif
