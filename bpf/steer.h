/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where it goes: into the site, or through a tunnel to the peer that owns the destination (SPEC 1.7). A
 * resource's packets go to its holder, a service's to a backend: who that is is known when pt_steer has put
 * an owner in the place of the owner.
 */
#ifndef POSTERN_STEER_H
#define POSTERN_STEER_H

#include "envelope.h"
#include "meter.h"
#include "mss.h"
#include "own.h"
#include "quote.h"
#include "service.h"

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
  fib->ifindex = packet->device;
  return bpf_fib_lookup(packet->ctx, fib, sizeof(*fib), 0) == BPF_FIB_LKUP_RET_NOT_FWDED;
}

/* By the way to `next`: the packet's own destination, or the backend in whose place it stands. */
PT_STAGE int pt_deliver(struct pt_packet* packet, const struct pt_flow* flow, const struct pt_address* next,
                        int verdict) {
  struct bpf_fib_lookup* fib = pt_clean(packet->work->fib);
  const struct pt_port* port;
  if (!pt_hop_left(flow)) return -PT_DROP_TTL_EXCEEDED;
  pt_fib_of_flow(flow, fib);
  if (flow->family == PT_FAMILY_IPV4) {
    fib->ipv4_dst = pt_mapped_ipv4(next);
  } else {
    __builtin_memcpy(fib->ipv6_dst, next, sizeof(fib->ipv6_dst));
  }
  const int found = pt_route(packet, fib);
  packet->mtu = fib->tot_len;
  PT_TRY(found);
  PT_TRY(pt_egress(packet, fib->ifindex, PT_ROLE_LOCAL, packet->vni, &port));
  if (packet->sender) pt_fit_segments(packet, flow, packet->tunnel_mtu);
  PT_TRY(pt_take_hop(packet->ctx, flow->family));
  struct pt_ethernet* ethernet = PT_HEADER(packet->ctx, 0, struct pt_ethernet);
  if (!ethernet) return -PT_DROP_NOT_LINEAR;
  pt_write_ethernet(ethernet, fib);
  packet->leaving_tag = port->vlan;
  return pt_leave_by(egress_local, port->carrier, verdict);
}

/* May this packet go to this peer? */
PT_STAGE int pt_check_endpoint(const struct pt_packet* packet, const struct pt_segment* segment, __u32 id,
                               const struct pt_endpoint* endpoint) {
  const __u8* mac = endpoint->mac;
  if (packet->sender && (packet->sender == id || packet->sender == endpoint->via)) {
    return -PT_DROP_RELAY_REFUSED;
  }
  const bool between = packet->sender_kind == PT_PEER_GATEWAY && endpoint->kind == PT_PEER_GATEWAY;
  if (packet->sender && between && !endpoint->via) return -PT_DROP_RELAY_REFUSED;
  if (endpoint->state == PT_PEER_REVOKED) return -PT_DROP_PEER_REVOKED;
  if (endpoint->state != PT_PEER_ACTIVE) return -PT_DROP_PEER_EXPIRED;
  if (!pt_in_segment(endpoint->segments, segment->index)) return -PT_DROP_NO_ROUTE;
  return (mac[0] | mac[1] | mac[2] | mac[3] | mac[4] | mac[5]) ? PT_GO_ON : -PT_DROP_PEER_MAC_UNKNOWN;
}

/* Of a peer's several endpoints the one that this flow always takes. */
PT_STAGE int pt_endpoint_of(const struct pt_packet* packet, __u32 id, __u16 flow_hash,
                            const struct pt_endpoint** endpoint) {
  const __u32 slot = packet->generation.slot;
  __u32 key = PT_ENDPOINT_KEY(id, 0);
  void* known = pt_inner(endpoints, slot);
  if (!known) return -PT_DROP_TABLE_MISSING;
  *endpoint = bpf_map_lookup_elem(known, &key);
  if (!*endpoint) return -PT_DROP_NO_ROUTE;
  const __u32 ways = (*endpoint)->ways;
  if (ways < 2) return PT_GO_ON;
  /* Not the low bits: receivers spread flows over queues by those. */
  key = PT_ENDPOINT_KEY(id, (flow_hash * 0x9e3779b1u >> 16) % ways);
  *endpoint = bpf_map_lookup_elem(known, &key);
  return *endpoint ? PT_GO_ON : -PT_DROP_TABLE_MISSING;
}

PT_STAGE int pt_forward(struct pt_packet* packet, const struct pt_segment* segment,
                        const struct pt_flow* flow, __u32 id, int verdict) {
  const __u16 source_port = pt_flow_port(flow);
  const struct pt_endpoint* endpoint;
  if (!segment) return -PT_DROP_NO_ROUTE;
  PT_TRY(pt_endpoint_of(packet, id, source_port, &endpoint));
  PT_TRY(pt_check_endpoint(packet, segment, id, endpoint));
  if (!pt_hop_left(flow)) return -PT_DROP_TTL_EXCEEDED;
  if (endpoint->flags & PT_PEER_METERED) {
    PT_TRY(pt_meter(packet->generation.slot, id, PT_TO_PEER, pt_length(packet->ctx)));
  }

  struct bpf_fib_lookup* fib = pt_clean(packet->work->fib);
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

/* An error goes to the backend whose answer it quotes: to where the packet went that was answered. */
PT_STAGE int pt_backend_for(const struct pt_packet* packet, const struct pt_flow* flow, __u32 service,
                            struct pt_address* address) {
  struct pt_case* about = pt_case_of(packet);
  if (!flow->error) return pt_backend_of(about, flow, service, address);
  struct pt_flow* quote = pt_clean(packet->work->quote);
  PT_TRY(pt_read_quote(packet->ctx, flow, quote));
  const struct pt_address client = quote->destination;
  const __u16 port = quote->destination_port;
  quote->destination = quote->source;
  quote->destination_port = quote->source_port;
  quote->source = client;
  quote->source_port = port;
  return pt_backend_of(about, quote, service, address);
}

PT_STAGE int pt_steer(struct pt_packet* packet, const struct pt_segment* segment, const struct pt_flow* flow,
                      const struct pt_owner* destination) {
  pt_at(STEER);
  const bool tunnelled = packet->sender != 0;
  const struct pt_address* next = &flow->destination;
  __u32 kind = destination->kind, id = destination->id;
  if (kind == PT_OWNER_SERVICE) {
    const struct pt_owner* owner;
    next = &packet->work->next;
    PT_TRY(pt_backend_for(packet, flow, id, &packet->work->next));
    PT_TRY(pt_owner_of(packet, packet->vni, flow->family, next, &owner));
    if (!owner) return -PT_DROP_NO_ROUTE;
    kind = owner->kind;
    id = owner->id;
  }
  if (kind == PT_OWNER_RESOURCE) {
    const struct pt_resource* held;
    PT_TRY(pt_holder_of(packet, id, 0, &held));
    kind = held->holder == PT_HOLDER_LOCAL ? PT_OWNER_LOCAL : PT_OWNER_PEER;
    id = held->holder;
  }
  switch (kind) {
    case PT_OWNER_LOCAL:
      return pt_deliver(packet, flow, next, tunnelled ? PT_VERDICT_DECAPSULATED : PT_VERDICT_ROUTED);
    case PT_OWNER_PEER:
      return pt_forward(packet, segment, flow, id, tunnelled ? PT_VERDICT_RELAYED : PT_VERDICT_ENCAPSULATED);
    default:
      return -PT_DROP_NO_ROUTE;
  }
}

#endif
