/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Where it goes: into the site, or through a tunnel to the peer that owns the destination (SPEC 1.7). */
#ifndef POSTERN_STEER_H
#define POSTERN_STEER_H

#include "envelope.h"
#include "mss.h"
#include "own.h"

/* Is the destination one of the gateway's own addresses on this local port? */
PT_STAGE bool pt_is_own_address(const struct pt_packet* packet, const struct pt_segment* segment,
                                const struct pt_address* address) {
  if (pt_is_underlay_address(packet, address)) return true;
  return segment && pt_is_segment_address(segment, address);
}

/* Does the kernel itself take the packet? The table's "not forwarded" means local, broadcast, or no route at
 * all, and the host's stack does right by each of them. */
PT_STAGE bool pt_is_for_host(const struct pt_packet* packet, const struct pt_flow* flow) {
  struct bpf_fib_lookup* fib = pt_clean(packet->work->fib);
  pt_fib_of_flow(flow, fib);
  fib->tot_len = 0;
  fib->ifindex = packet->ctx->ingress_ifindex;
  return bpf_fib_lookup(packet->ctx, fib, sizeof(*fib), 0) == BPF_FIB_LKUP_RET_NOT_FWDED;
}

PT_STAGE int pt_deliver(struct pt_packet* packet, const struct pt_flow* flow, int verdict) {
  struct bpf_fib_lookup* fib = pt_clean(packet->work->fib);
  if (!pt_hop_left(flow)) return -PT_DROP_TTL_EXCEEDED;
  pt_fib_of_flow(flow, fib);
  const int found = pt_route(packet, fib);
  packet->mtu = fib->tot_len;
  PT_TRY(found);
  PT_TRY(pt_egress(packet, fib->ifindex, PT_ROLE_LOCAL, packet->vni));
  if (packet->sender) pt_fit_segments(packet, flow, packet->tunnel_mtu);
  PT_TRY(pt_take_hop(packet->ctx, flow->family));
  struct pt_ethernet* ethernet = PT_HEADER(packet->ctx, 0, struct pt_ethernet);
  if (!ethernet) return -PT_DROP_NOT_LINEAR;
  pt_write_ethernet(ethernet, fib);
  return pt_leave_by(egress_local, fib->ifindex, verdict);
}

/* May this packet go to this peer? */
PT_STAGE int pt_check_endpoint(const struct pt_packet* packet, const struct pt_segment* segment, __u32 id,
                               const struct pt_endpoint* endpoint) {
  const __u8* mac = endpoint->mac;
  if (packet->sender == id) return -PT_DROP_RELAY_REFUSED;
  if (packet->sender && packet->sender_kind == PT_PEER_GATEWAY && endpoint->kind == PT_PEER_GATEWAY) {
    return -PT_DROP_RELAY_REFUSED;
  }
  if (endpoint->state == PT_PEER_REVOKED) return -PT_DROP_PEER_REVOKED;
  if (endpoint->state != PT_PEER_ACTIVE) return -PT_DROP_PEER_EXPIRED;
  if (!pt_in_segment(endpoint->segments, segment->index)) return -PT_DROP_NO_ROUTE;
  return (mac[0] | mac[1] | mac[2] | mac[3] | mac[4] | mac[5]) ? PT_GO_ON : -PT_DROP_PEER_MAC_UNKNOWN;
}

PT_STAGE int pt_forward(struct pt_packet* packet, const struct pt_segment* segment,
                        const struct pt_flow* flow, __u32 id, int verdict) {
  const __u32 slot = packet->generation.slot;
  void* known = pt_inner(endpoints, slot);
  if (!known) return -PT_DROP_TABLE_MISSING;
  const struct pt_endpoint* endpoint = bpf_map_lookup_elem(known, &id);
  if (!endpoint || !segment) return -PT_DROP_NO_ROUTE;
  PT_TRY(pt_check_endpoint(packet, segment, id, endpoint));
  if (!pt_hop_left(flow)) return -PT_DROP_TTL_EXCEEDED;

  struct bpf_fib_lookup* fib = pt_clean(packet->work->fib);
  const __u16 source_port = pt_flow_port(flow);
  PT_TRY(pt_tunnel_route(packet, id, endpoint, flow->tos, source_port, fib));
  pt_fit_segments(packet, flow, packet->mtu);
  PT_TRY(pt_take_hop(packet->ctx, flow->family));
  struct pt_ethernet* ethernet = PT_HEADER(packet->ctx, 0, struct pt_ethernet);
  if (!ethernet) return -PT_DROP_NOT_LINEAR;
  pt_copy_mac(ethernet->destination, endpoint->mac);
  pt_copy_mac(ethernet->source, packet->generation.gateway->mac);
  packet->receiver = id;
  return pt_tunnel_send(packet, endpoint, flow, flow->tos, source_port, fib, verdict);
}

PT_STAGE int pt_steer(struct pt_packet* packet, const struct pt_segment* segment, const struct pt_flow* flow,
                      const struct pt_owner* destination) {
  const bool tunnelled = packet->sender != 0;
  switch (destination->kind) {
    case PT_OWNER_LOCAL:
      return pt_deliver(packet, flow, tunnelled ? PT_VERDICT_DECAPSULATED : PT_VERDICT_ROUTED);
    case PT_OWNER_PEER:
      return pt_forward(packet, segment, flow, destination->id,
                        tunnelled ? PT_VERDICT_RELAYED : PT_VERDICT_ENCAPSULATED);
    case PT_OWNER_RESOURCE:
      return -PT_DROP_UNHELD;
    default:
      return -PT_DROP_NO_ROUTE;
  }
}

#endif
