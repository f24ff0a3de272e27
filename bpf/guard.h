/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Guarded ports (SPEC 1.14): UDP ports of the host, such as an encrypting tunnel's, that only admitted peers
 * reach, within a rate. Everything that is not the mesh's passes to the host otherwise, so this is its only
 * gate. A port counts at every address, since a host may have any; a fragment of such a packet is dropped
 * with its ports, and its later pieces have nothing to join.
 */
#ifndef POSTERN_GUARD_H
#define POSTERN_GUARD_H

#include "meter.h"
#include "parse.h"

/* Peer ids begin at 1: this bucket is the one that all guarded ports share. */
#define PT_GUARD_BUCKET 0

PT_STAGE bool pt_is_guarded(const struct pt_gateway* us, __u16 port_be) {
  bool found = false;
  for (int i = 0; i < PT_MAX_GUARDED_PORTS; i++)
    found |= i < us->guarded_count && us->guarded_be[i] == port_be;
  return found;
}

PT_STAGE int pt_guard(struct pt_packet* packet, const struct pt_link* link, const struct pt_flow* outer) {
  const struct pt_gateway* us = packet->generation.gateway;
  const __u32 slot = packet->generation.slot;
  if (!us->guarded_count || outer->next_header != PT_IP_UDP) return PT_VERDICT_PASS;
  struct pt_udp udp = {};
  if (bpf_xdp_load_bytes(packet->ctx, outer->transport_offset, &udp, sizeof(udp))) return -PT_DROP_GUARDED;
  if (!pt_is_guarded(us, udp.destination_be)) return PT_VERDICT_PASS;
  if (link->tags || outer->fragment || outer->options) return -PT_DROP_GUARDED;
  void* known = pt_inner(peers, slot);
  if (!known) return -PT_DROP_TABLE_MISSING;
  const struct pt_peer* peer = bpf_map_lookup_elem(known, &outer->source);
  if (!peer || peer->state != PT_PEER_ACTIVE) return -PT_DROP_GUARDED;
  PT_TRY(pt_meter(slot, PT_GUARD_BUCKET, PT_FROM_PEER, packet->length));
  return PT_VERDICT_PASS;
}

#endif
