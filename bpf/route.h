/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's own routing table says by which interface and to which MAC; ports and devmap of the role say
 * whether that interface is one that this kind of traffic may leave by (SPEC 1.7). A next hop without a MAC
 * is a counted drop and a request to the agent, at most once a second for each.
 */
#ifndef POSTERN_ROUTE_H
#define POSTERN_ROUTE_H

#include "incident.h"
#include "packet.h"

#define PT_ASK_AGAIN_NS 1000000000ull

PT_FUNCTION int pt_ask_neighbour(const struct bpf_fib_lookup* fib) {
  if (!fib) return 0;
  pt_would(ASK_NEIGHBOUR);
  if (PT_DRY) return 0;
  struct pt_neighbour key = {.ifindex = fib->ifindex};
  if (fib->family == PT_FAMILY_IPV4) {
    pt_map_ipv4(&key.address, fib->ipv4_dst);
  } else {
    __builtin_memcpy(&key.address, fib->ipv6_dst, sizeof(key.address));
  }
  const __u64 now = bpf_ktime_get_boot_ns();
  const __u64* asked = bpf_map_lookup_elem(&neighbours_asked, &key);
  if (asked && now - *asked < PT_ASK_AGAIN_NS) return 0;
  struct pt_event event = {.type = PT_EVENT_NEIGHBOUR_WANTED, .ifindex = key.ifindex, .address = key.address};
  if (bpf_ringbuf_output(&events, &event, sizeof(event), 0) != 0) {
    pt_lost(PT_LOST_REQUESTS);
    return 0;
  }
  bpf_map_update_elem(&neighbours_asked, &key, &now, BPF_ANY);
  return 0;
}

#if PT_DRY
PT_STAGE void pt_tell_route(const struct bpf_fib_lookup* fib, long found) {
  pt_trace.lookups++;
  pt_trace.route = found;
  pt_trace.route_ifindex = fib->ifindex;
  pt_trace.mtu = fib->tot_len;
  if (fib->family == PT_FAMILY_IPV4) {
    pt_map_ipv4(&pt_trace.next_hop, fib->ipv4_dst);
  } else {
    __builtin_memcpy(&pt_trace.next_hop, fib->ipv6_dst, sizeof(fib->ipv6_dst));
  }
}
#else
#define pt_tell_route(fib, found) ((void)0)
#endif

/* On success `fib` holds the way out: ifindex, smac, dmac, and in tot_len its MTU. That is there with TOO_BIG
 * as well. */
PT_STAGE int pt_route(const struct pt_packet* packet, struct bpf_fib_lookup* fib) {
  fib->ifindex = packet->device;
  pt_at(ROUTE);
  const long found = bpf_fib_lookup(packet->ctx, fib, sizeof(*fib), 0);
  pt_tell_route(fib, found);
  switch (found) {
    case BPF_FIB_LKUP_RET_SUCCESS:
      return PT_GO_ON;
    case BPF_FIB_LKUP_RET_FRAG_NEEDED:
      return -PT_DROP_TOO_BIG;
    case BPF_FIB_LKUP_RET_NO_NEIGH:
      pt_ask_neighbour(fib);
      return -PT_DROP_NEIGHBOUR_UNRESOLVED;
    default:
      return -PT_DROP_NO_FIB_ROUTE;
  }
}

/* May traffic of this role and segment leave there? */
PT_STAGE int pt_egress(const struct pt_packet* packet, __u32 ifindex, __u8 role, __u32 vni,
                       const struct pt_port** port) {
  const __u32 slot = packet->generation.slot;
  const struct pt_port_key key = {.ifindex = ifindex};
  void* known = pt_inner(ports, slot);
  if (!known) return -PT_DROP_TABLE_MISSING;
  *port = bpf_map_lookup_elem(known, &key);
  if (!*port || (*port)->role != role || (*port)->vni != vni) return -PT_DROP_EGRESS_NOT_ALLOWED;
  return PT_GO_ON;
}

/* The question to the routing table about a packet as it is. */
PT_FUNCTION int pt_fib_of_flow(const struct pt_flow* flow, struct bpf_fib_lookup* fib) {
  if (!flow || !fib) return -PT_DROP_MALFORMED;
  fib->family = flow->family;
  fib->l4_protocol = flow->next_header;
  if (flow->protocol <= PT_PROTO_UDP) {
    fib->sport = bpf_htons(flow->source_port);
    fib->dport = bpf_htons(flow->destination_port);
  }
  fib->tot_len = flow->total_length;
  if (flow->family == PT_FAMILY_IPV4) {
    fib->tos = flow->tos;
    fib->ipv4_src = pt_mapped_ipv4(&flow->source);
    fib->ipv4_dst = pt_mapped_ipv4(&flow->destination);
  } else {
    fib->flowinfo = bpf_htonl((__u32)flow->tos << 20);
    __builtin_memcpy(fib->ipv6_src, &flow->source, sizeof(fib->ipv6_src));
    __builtin_memcpy(fib->ipv6_dst, &flow->destination, sizeof(fib->ipv6_dst));
  }
  return PT_GO_ON;
}

PT_STAGE void pt_write_ethernet(struct pt_ethernet* ethernet, const struct bpf_fib_lookup* fib) {
  pt_copy_mac(ethernet->destination, fib->dmac);
  pt_copy_mac(ethernet->source, fib->smac);
}

PT_STAGE bool pt_hop_left(const struct pt_flow* flow) {
  return flow->ttl > 1;
}

/* One hop less, in the IP header of a frame that begins at the packet's start. RFC 1624 for the checksum. */
PT_FUNCTION int pt_take_hop(struct xdp_md* ctx, __u32 family) {
  if (family == PT_FAMILY_IPV4) {
    struct pt_ipv4* ip = PT_HEADER(ctx, sizeof(struct pt_ethernet), struct pt_ipv4);
    if (!ip) return -PT_DROP_NOT_LINEAR;
    const __u32 sum = (__u32)ip->checksum + bpf_htons(0x0100);
    ip->checksum = (__u16)(sum + (sum >= 0xffff));
    ip->ttl--;
  } else {
    struct pt_ipv6* ip = PT_HEADER(ctx, sizeof(struct pt_ethernet), struct pt_ipv6);
    if (!ip) return -PT_DROP_NOT_LINEAR;
    ip->hop_limit--;
  }
  return PT_GO_ON;
}

/* Hands the frame to an interface of the role's devmap, or not at all. */
#define pt_leave_by(devmap, ifindex, verdict) \
  (bpf_redirect_map(&(devmap), ifindex, 0) == XDP_REDIRECT ? (verdict) : -PT_DROP_EGRESS_NOT_ALLOWED)

#endif
