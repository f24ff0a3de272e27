/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One 802.1Q tag of a local interface (SPEC 1.20). It is taken off where a frame arrives and put on at the
 * one exit, so that no stage in between knows of it: the way of a packet is verified once, and not once for
 * each shape of its link header. What the host's stack gets has the tag again that it came with, priority and
 * all; what leaves into the site has the tag of the port that it leaves by, with priority 0.
 */
#ifndef POSTERN_VLAN_H
#define POSTERN_VLAN_H

#include "packet.h"

struct pt_tagged {
  struct pt_ethernet ethernet;
  struct pt_vlan vlan;
} __attribute__((packed, aligned(2)));

#define PT_VLAN_ID 0x0fff

/* The tag's 16 bits, or 0: there was none, or one that says nothing. Frames whose link header a driver split
 * over two buffers keep theirs, and are no port's. */
PT_FUNCTION int pt_take_tag_off(struct xdp_md* ctx) {
  struct pt_tagged* frame = PT_HEADER(ctx, 0, struct pt_tagged);
  if (!frame || frame->ethernet.type_be != bpf_htons(PT_ETHERTYPE_VLAN)) return 0;
  const __u32 tag = bpf_ntohs(frame->vlan.tag_be);
  const struct pt_ethernet was = frame->ethernet;
  struct pt_ethernet* moved = PT_HEADER(ctx, sizeof(struct pt_vlan), struct pt_ethernet);
  if (!moved) return 0;
  pt_copy_mac(moved->destination, was.destination);
  pt_copy_mac(moved->source, was.source);
  return bpf_xdp_adjust_head(ctx, sizeof(struct pt_vlan)) ? 0 : (int)tag;
}

/* 0, or there was no room for it. */
PT_FUNCTION int pt_put_tag_on(struct xdp_md* ctx, __u32 tag) {
  if (bpf_xdp_adjust_head(ctx, -(int)sizeof(struct pt_vlan))) return -PT_DROP_NO_HEADROOM;
  const struct pt_ethernet* behind = PT_HEADER(ctx, sizeof(struct pt_vlan), struct pt_ethernet);
  struct pt_tagged* frame = PT_HEADER(ctx, 0, struct pt_tagged);
  if (!behind || !frame) return -PT_DROP_NO_HEADROOM;
  const struct pt_ethernet was = *behind;
  pt_copy_mac(frame->ethernet.destination, was.destination);
  pt_copy_mac(frame->ethernet.source, was.source);
  frame->ethernet.type_be = bpf_htons(PT_ETHERTYPE_VLAN);
  frame->vlan.tag_be = bpf_htons(tag);
  return PT_GO_ON;
}

/* The end of a packet's way, with the tag that belongs to it. */
PT_STAGE int pt_retag(const struct pt_packet* packet, int end) {
  end = pt_unknown(end);
  if (end <= 0) return end;
  const __u32 tag = end == PT_VERDICT_PASS ? packet->arrived_tag : packet->leaving_tag;
  if (!tag) return end;
  const int put = pt_put_tag_on(packet->ctx, tag);
  return put ? put : end;
}

#endif
