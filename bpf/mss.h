/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* TCP's maximum segment size, lowered in a SYN to what fits the tunnel (SPEC 1.8): path MTU discovery is then
 * the fall-back, not the rule. */
#ifndef POSTERN_MSS_H
#define POSTERN_MSS_H

#include "incident.h"
#include "transport.h"

#define PT_TCP_OPTIONS_BYTES 40
#define PT_TCP_MSS 2
#define PT_TCP_CHECKSUM_AT 16

/* Where in the options the MSS value stands; 0 if they have none. */
PT_STAGE __u32 pt_find_mss(const __u8* options, __u32 length) {
  __u32 next = 0;
  for (__u32 at = 0; at + 3 < PT_TCP_OPTIONS_BYTES; at++) {
    if (at + 3 >= length || at != next) continue;
    const __u8 kind = options[at];
    if (kind == PT_OPTION_END) break;
    const __u32 size = kind == PT_OPTION_NOP ? 1 : options[at + 1];
    if (kind == PT_TCP_MSS && size == 4) return at + 2;
    if (!size) break;
    next = pt_unknown(at + size);
  }
  return 0;
}

/* The option keeps what it says if that is no more than `limit`. Never an error: at worst nothing is done. */
PT_FUNCTION int pt_clamp_mss(struct xdp_md* ctx, __u32 offset, __u32 limit) {
  struct pt_tcp tcp;
  __u8 options[PT_TCP_OPTIONS_BYTES] = {};
  if (offset > PT_FARTHEST_HEADER || bpf_xdp_load_bytes(ctx, offset, &tcp, sizeof(tcp))) return 0;
  __u32 length = (tcp.offset >> 4) * 4;
  if (length < sizeof(tcp) + 4) return 0;
  length -= sizeof(tcp);
  if (length > PT_TCP_OPTIONS_BYTES) return 0;
  if (bpf_xdp_load_bytes(ctx, offset + sizeof(tcp), options, length)) return 0;
  const __u32 at = pt_find_mss(options, length);
  if (!at || at > PT_TCP_OPTIONS_BYTES - 2) return 0;
  const __u16 mss = options[at] << 8 | options[at + 1];
  if (mss <= limit) return 0;
  const __u16 old_be = bpf_htons(mss), new_be = bpf_htons(limit);
  /* A value at an odd place lies across two words of the checksum, with its bytes swapped. */
  const bool odd = at & 1;
  const __u16 checksum = pt_checksum_with(tcp.checksum, odd ? __builtin_bswap16(old_be) : old_be,
                                          odd ? __builtin_bswap16(new_be) : new_be);
  if (bpf_xdp_store_bytes(ctx, offset + sizeof(tcp) + at, (void*)&new_be, sizeof(new_be))) return 0;
  if (bpf_xdp_store_bytes(ctx, offset + PT_TCP_CHECKSUM_AT, (void*)&checksum, sizeof(checksum))) return 0;
  pt_would(CLAMP);
  pt_note(PT_INCIDENT_MSS_CLAMPED);
  return 0;
}

/* `mtu` is the largest IP packet that the tunnel takes. */
PT_STAGE void pt_fit_segments(const struct pt_packet* packet, const struct pt_flow* flow, __u32 mtu) {
  const __u32 headers = sizeof(struct pt_tcp) +
                        (flow->family == PT_FAMILY_IPV4 ? sizeof(struct pt_ipv4) : sizeof(struct pt_ipv6));
  if (!flow->syn || !packet->generation.gateway->clamp_mss || mtu <= headers) return;
  pt_clamp_mss(packet->ctx, flow->transport_offset, mtu - headers);
}

#endif
