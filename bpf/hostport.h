/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The host port (SPEC 1.15): a veth pair whose far end is the kernel's own stack. XDP has no hook on the way
 * out, so what the host itself sends into the mesh arrives here as if a site host had sent it; and what XDP
 * cannot finish goes in here for the kernel to finish: its own packets, next hops that must be resolved
 * first, packets that are to be cut into fragments.
 *
 * What came in by the host port is never handed back to it: the kernel had its try.
 */
#ifndef POSTERN_HOSTPORT_H
#define POSTERN_HOSTPORT_H

#include "route.h"

PT_STAGE bool pt_can_hand(const struct pt_packet* packet) {
  return packet->segment && packet->segment->host_port && !packet->from_host;
}

PT_FUNCTION int pt_address_host(struct xdp_md* ctx, const struct pt_segment* segment) {
  struct pt_ethernet* ethernet = PT_HEADER(ctx, 0, struct pt_ethernet);
  if (!ethernet || !segment) return -PT_DROP_NOT_LINEAR;
  pt_copy_mac(ethernet->destination, segment->host_mac);
  pt_copy_mac(ethernet->source, segment->host_mac);
  return PT_GO_ON;
}

/* Gives the frame at the packet's start to the host's stack. Only where pt_can_hand. */
PT_STAGE int pt_hand(const struct pt_packet* packet) {
  if (!packet->segment) return -PT_DROP_NO_ROUTE;
  PT_TRY(pt_address_host(packet->ctx, packet->segment));
  return pt_leave_by(egress_local, packet->segment->host_port, PT_VERDICT_HANDED);
}

/* The answer of a lookup that found no MAC, as if the host port were the way: of no known MTU. */
PT_FUNCTION int pt_fib_to_host(const struct pt_segment* segment, struct bpf_fib_lookup* fib) {
  if (!segment || !fib) return -PT_DROP_NO_FIB_ROUTE;
  pt_copy_mac(fib->dmac, segment->host_mac);
  pt_copy_mac(fib->smac, segment->host_mac);
  fib->tot_len = 0xffff;
  return PT_GO_ON;
}

/* A packet that ended as `end`, untouched yet: the kernel resolves neighbours, and cuts what may be cut. It
 * cannot send for others through a tunnel, and what it forwards must go where XDP would have let it go. */
PT_STAGE int pt_hand_over(const struct pt_packet* packet, const struct pt_flow* flow, int end) {
  const bool cut = end == -PT_DROP_TOO_BIG && !flow->dont_fragment;
  if ((end != -PT_DROP_NEIGHBOUR_UNRESOLVED && !cut) || !pt_can_hand(packet)) return end;
  if (packet->to_peer) return packet->sender ? end : pt_hand(packet);
  if (cut) { /* the lookup ended before it named the interface */
    packet->work->fib.tot_len = 0;
    const int found = pt_route(packet, &packet->work->fib);
    if (found != PT_GO_ON && found != -PT_DROP_NEIGHBOUR_UNRESOLVED) return found;
  }
  const struct pt_port* port;
  PT_TRY(pt_egress(packet, packet->work->fib.ifindex, PT_ROLE_LOCAL, packet->vni, &port));
  return pt_hand(packet);
}

#endif
