/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Internet checksums over what lies in a frame (SPEC 1.8). Sums are of 16-bit words as they lie in memory, so
 * they can be added to words in network order.
 *
 * The checksum of an outer IPv6 header must be real (RFC 6935 lets a receiver refuse zero, and stock Linux
 * does). It covers the whole inner frame, yet seldom needs to look at it: over a transport segment and its
 * pseudo header the inner checksum makes the sum 0xffff, so the segment alone sums up to the complement of
 * the pseudo header. If the inner checksum is wrong so is the outer one then, and the receiver drops the
 * packet as it would have anyway. Fragments, datagrams without a checksum and padded frames are summed byte
 * by byte.
 */
#ifndef POSTERN_CHECKSUM_H
#define POSTERN_CHECKSUM_H

#include "transport.h"

#define PT_SUM_CHUNK 512 /* what bpf_csum_diff takes at once */
#define PT_SUM_CHUNKS (65536 / PT_SUM_CHUNK)

struct pt_chunk {
  __u8 bytes[PT_SUM_CHUNK + 4];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct pt_chunk);
} chunks SEC(".maps");

/* The sum of `length` bytes from `offset` on, in any buffer; negative if they are not all there. */
PT_FUNCTION int pt_sum_bytes(struct xdp_md* ctx, __u32 offset, __u32 length) {
  const __u32 zero = 0;
  __u32 sum = 0;
  struct pt_chunk* chunk = bpf_map_lookup_elem(&chunks, &zero);
  if (!chunk) return -PT_DROP_TABLE_MISSING;
  for (int i = 0; i < PT_SUM_CHUNKS && length >= PT_SUM_CHUNK; i++) {
    if (bpf_xdp_load_bytes(ctx, offset, chunk->bytes, PT_SUM_CHUNK)) return -PT_DROP_MALFORMED;
    sum = (__u32)bpf_csum_diff(NULL, 0, (__be32*)chunk->bytes, PT_SUM_CHUNK, sum);
    offset += PT_SUM_CHUNK;
    length -= PT_SUM_CHUNK;
  }
  if (!length) return pt_fold(sum);
  /* The verifier of Linux 6.1 learns nothing from "is not 0", so one comparison gives both bounds. */
  __u32 last = length - 1;
  asm volatile("" : "+r"(last));
  if (last >= PT_SUM_CHUNK - 1) return -PT_DROP_MALFORMED;
  length = last + 1;
  if (bpf_xdp_load_bytes(ctx, offset, chunk->bytes, length)) return -PT_DROP_MALFORMED;
  __builtin_memset(chunk->bytes + length, 0, 4);
  return pt_fold((__u32)bpf_csum_diff(NULL, 0, (__be32*)chunk->bytes, (length + 3) & ~3u, sum));
}

PT_STAGE __u64 pt_sum_address(const struct pt_address* address, bool six) {
  const pt_word32* words = (const pt_word32*)address->bytes;
  return six ? (__u64)words[0] + words[1] + words[2] + words[3] : words[3];
}

/* Of a transport's pseudo header. */
PT_STAGE __u16 pt_sum_pseudo(const struct pt_flow* flow) {
  const bool six = flow->family == PT_FAMILY_IPV6;
  return pt_fold(pt_sum_address(&flow->source, six) + pt_sum_address(&flow->destination, six) +
                 bpf_htons(flow->payload_length) + bpf_htons(flow->next_header));
}

/* Does the segment bring a checksum that covers all of it? */
PT_STAGE bool pt_has_checksum(struct xdp_md* ctx, const struct pt_flow* flow) {
  if (flow->fragment || flow->options) return false;
  const __u8 next = flow->next_header;
  if (next == PT_IP_TCP || next == PT_IP_ICMP || next == PT_IP_ICMPV6) return true;
  if (next != PT_IP_UDP) return false;
  struct pt_udp copy;
  const struct pt_udp* udp = PT_READ(ctx, flow->transport_offset, copy);
  return udp && udp->checksum && bpf_ntohs(udp->length_be) == flow->payload_length;
}

/* The sum of the frame at the packet's start, of which `flow` (NULL: unknown) was read. */
PT_FUNCTION int pt_sum_frame(struct xdp_md* ctx, const struct pt_flow* flow) {
  const __u32 length = pt_length(ctx);
  const __u32 link = sizeof(struct pt_ethernet);
  if (!flow || flow->transport_offset > PT_FARTHEST_HEADER || flow->total_length + link != length ||
      !pt_has_checksum(ctx, flow)) {
    return pt_sum_bytes(ctx, 0, length);
  }
  const bool six = flow->family == PT_FAMILY_IPV6;
  const __u32 header = six ? sizeof(struct pt_ipv6) : sizeof(struct pt_ipv4);
  const int headers = pt_sum_bytes(ctx, 0, link + header);
  if (headers < 0) return headers;
  const __u16 pseudo = flow->next_header == PT_IP_ICMP ? 0 : pt_sum_pseudo(flow);
  return pt_fold((__u64)headers + (__u16)~pseudo);
}

#endif
