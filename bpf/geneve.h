/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Geneve (RFC 8926): what differs from VXLAN (SPEC 1.8). The fixed header has VXLAN's size and keeps the VNI
 * in the same place; options may follow it. One of them is ours, the fence option: {resource, epoch} of the
 * resource that the inner source belongs to, as its holder knows it. Options that we do not know are skipped
 * unless they are critical.
 */
#ifndef POSTERN_GENEVE_H
#define POSTERN_GENEVE_H

#include "packet.h"

struct pt_geneve {
  __u8 version_length; /* two bits of version, six of options' length in words */
  __u8 flags;
  __u16 protocol_be;
  __u32 vni_be; /* VNI, 8 reserved bits */
};
#define PT_GENEVE_ETHERNET 0x6558 /* transparent Ethernet bridging */
#define PT_GENEVE_CONTROL 0x80    /* not for data: such a packet is never forwarded */
#define PT_GENEVE_CRITICAL 0x40   /* a critical option is among the options; we know none */

struct pt_geneve_option {
  __u16 class_be;
  __u8 type;   /* highest bit: critical */
  __u8 length; /* of what follows, in words; the upper three bits are reserved */
};
#define PT_OPTION_CRITICAL 0x80
#define PT_OPTION_FENCE 1
#define PT_MAX_GENEVE_OPTIONS 16

struct pt_fence_option {
  struct pt_geneve_option option;
  __u32 resource_be;
  __u64 epoch_be;
} __attribute__((packed, aligned(4)));

/* RFC 8926 3.4: a reader of no critical option drops what says it has one. Reserved bits are not looked at.
 */
PT_STAGE bool pt_geneve_known(const struct pt_geneve* header) {
  return header->version_length >> 6 == 0 && !(header->flags & (PT_GENEVE_CONTROL | PT_GENEVE_CRITICAL)) &&
         header->protocol_be == bpf_htons(PT_GENEVE_ETHERNET);
}

/* Walks `length` bytes of options at `offset`. *fence keeps class 0 when there is no fence option. */
PT_FUNCTION int pt_geneve_options(struct xdp_md* ctx, __u32 offset, __u32 length, __u16 fence_class_be,
                                  struct pt_fence_option* fence) {
  struct pt_geneve_option option = {};
  if (!fence) return -PT_DROP_BAD_TUNNEL;
  for (int i = 0; i < PT_MAX_GENEVE_OPTIONS; i++) {
    if (!length) return PT_GO_ON;
    if (bpf_xdp_load_bytes(ctx, offset, &option, sizeof(option))) return -PT_DROP_MALFORMED;
    const __u32 size = sizeof(option) + (option.length & 0x1f) * 4;
    if (size > length || (option.type & PT_OPTION_CRITICAL)) return -PT_DROP_BAD_TUNNEL;
    if (option.class_be == fence_class_be && option.type == PT_OPTION_FENCE) {
      if (size != sizeof(*fence) || fence->option.class_be) return -PT_DROP_BAD_TUNNEL;
      if (bpf_xdp_load_bytes(ctx, offset, fence, sizeof(*fence))) return -PT_DROP_MALFORMED;
    }
    offset = pt_unknown(offset + size);
    length = pt_unknown(length - size);
  }
  return length ? -PT_DROP_BAD_TUNNEL : PT_GO_ON;
}

/* The options of an admitted peer's packet. */
PT_STAGE int pt_read_fence(struct pt_packet* packet, __u32 offset, __u32 length) {
  struct pt_fence_option fence = {};
  if (!length) return PT_GO_ON;
  PT_TRY(pt_geneve_options(packet->ctx, offset, length, packet->generation.gateway->fence_class_be, &fence));
  if (!fence.option.class_be) return PT_GO_ON;
  packet->fenced = true;
  packet->fence_resource = bpf_ntohl(fence.resource_be);
  packet->fence_epoch = bpf_be64_to_cpu(fence.epoch_be);
  return PT_GO_ON;
}

PT_STAGE void pt_make_fence(const struct pt_packet* packet, struct pt_fence_option* fence) {
  fence->option.class_be = packet->generation.gateway->fence_class_be;
  fence->option.type = PT_OPTION_FENCE;
  fence->option.length = (sizeof(*fence) - sizeof(fence->option)) / 4;
  fence->resource_be = bpf_htonl(packet->fence_resource);
  fence->epoch_be = bpf_cpu_to_be64(packet->fence_epoch);
}

/* The option's share of the outer UDP checksum. */
PT_STAGE __u64 pt_sum_fence(const struct pt_packet* packet) {
  struct pt_fence_option fence;
  pt_make_fence(packet, &fence);
  const pt_word32* words = (const pt_word32*)&fence;
  return (__u64)words[0] + words[1] + words[2] + words[3];
}

/* Puts the fence option in front of the inner frame. The tunnel headers that follow take it for a part of it.
 */
PT_STAGE int pt_write_fence(const struct pt_packet* packet) {
  if (bpf_xdp_adjust_head(packet->ctx, -(int)sizeof(struct pt_fence_option))) return -PT_DROP_NO_HEADROOM;
  struct pt_fence_option* fence = PT_HEADER(packet->ctx, 0, struct pt_fence_option);
  if (!fence) return -PT_DROP_NO_HEADROOM;
  pt_make_fence(packet, fence);
  return PT_GO_ON;
}

/* The first word of the header, where VXLAN has its flags. */
PT_STAGE __u32 pt_geneve_word(__u32 option_bytes) {
  return bpf_htonl(option_bytes / 4 << 24 | PT_GENEVE_ETHERNET);
}

#endif
