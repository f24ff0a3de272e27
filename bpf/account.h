/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The one exit (SPEC 1.10): every packet is counted under one verdict of its port, a dropped one under one
 * reason too, and a recognised peer's row moves. Counters are per CPU, so plain additions do.
 */
#ifndef POSTERN_ACCOUNT_H
#define POSTERN_ACCOUNT_H

#include "packet.h"
#include "watch.h"

PT_STAGE void pt_count(struct pt_count* count, __u32 bytes) {
  if (!count) return;
  count->packets++;
  count->bytes += bytes;
}

PT_STAGE void pt_count_peers(const struct pt_packet* packet, bool dropped) {
  if (packet->sender) {
    struct pt_peer_count* from = bpf_map_lookup_elem(&peer_counts, &packet->sender);
    if (from) pt_count(dropped ? &from->dropped : &from->rx, packet->length);
  }
  if (packet->receiver && !dropped) {
    struct pt_peer_count* to = bpf_map_lookup_elem(&peer_counts, &packet->receiver);
    if (to) pt_count(&to->tx, pt_length(packet->ctx));
  }
}

/* Bytes are those of the frame as it arrived; a peer's `tx` are those of the tunnel packet that leaves. */
PT_STAGE void pt_count_end(const struct pt_packet* packet, int end) {
  const bool refused = end == PT_VERDICT_REFUSED;
  const bool dropped = end <= 0 || refused;
  const __u32 verdict = end <= 0 ? PT_VERDICT_DROP : (__u32)end;
  const __u32 row = packet->port_slot * PT_VERDICT_COUNT + verdict;
  pt_count(bpf_map_lookup_elem(&verdicts, &row), packet->length);
  if (dropped) {
    const __u32 reason = refused ? packet->refused : (__u32)-end;
    pt_count(bpf_map_lookup_elem(&drops, &reason), packet->length);
  }
  pt_count_peers(packet, dropped);
}

/* Turns a packet's end into what the driver is told. */
PT_STAGE int pt_account(const struct pt_packet* packet, int end) {
  if (!PT_DRY) pt_count_end(packet, end);
  pt_watch_end(packet, end);
  if (end <= 0) return XDP_DROP;
  return end == PT_VERDICT_PASS ? XDP_PASS : XDP_REDIRECT;
}

#endif
