/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tunnel headers put on a frame (SPEC 1.8): Ethernet, IPv4 or IPv6, UDP, VXLAN or Geneve. Over IPv4 the UDP
 * checksum is zero, over IPv6 it is real (checksum.h). TOS and traffic class are the inner packet's, so DSCP
 * and ECN go along (RFC 6040, normal mode).
 */
#ifndef POSTERN_ENVELOPE_H
#define POSTERN_ENVELOPE_H

#include "checksum.h"
#include "hostport.h"
#include "mtu.h"
#include "route.h"
#include "tunnel.h"

struct pt_envelope4 {
  struct pt_ethernet ethernet;
  struct pt_ipv4 ip;
  struct pt_udp udp;
  struct pt_vxlan vxlan;
} __attribute__((packed, aligned(2)));

struct pt_envelope6 {
  struct pt_ethernet ethernet;
  struct pt_ipv6 ip;
  struct pt_udp udp;
  struct pt_vxlan vxlan;
} __attribute__((packed, aligned(2)));

#define PT_ENVELOPE_TTL 64

/* All that the headers in front of a frame are made of. */
struct pt_envelope {
  struct pt_address local __attribute__((aligned(8)));
  struct pt_address remote __attribute__((aligned(8)));
  __u32 vni;
  __u32 word_be; /* in front of the VNI: VXLAN's flags, or Geneve's lengths and protocol */
  __u16 source_port;
  __u16 port_be;
  __u16 inner_length;
  __u16 inner_sum; /* IPv6 */
  __u16 dmac[3];
  __u16 smac[3];
  __u8 tos;
  __u8 pad[3];
};

/* In front of the inner IP packet: outer IP, UDP, VXLAN and the inner Ethernet header. */
PT_STAGE __u32 pt_overhead(bool six) {
  const __u32 ip = six ? sizeof(struct pt_ipv6) : sizeof(struct pt_ipv4);
  return ip + sizeof(struct pt_udp) + sizeof(struct pt_vxlan) + sizeof(struct pt_ethernet);
}

PT_STAGE __u16 pt_port_of_tunnel(const struct pt_packet* packet, const struct pt_endpoint* endpoint) {
  const struct pt_gateway* us = packet->generation.gateway;
  return endpoint->tunnel == PT_TUNNEL_GENEVE ? us->geneve_port_be : us->tunnel_port_be;
}

/* What goes between the tunnel headers and the frame. */
PT_STAGE __u32 pt_option_bytes(const struct pt_packet* packet, const struct pt_endpoint* endpoint) {
  return packet->fenced && endpoint->tunnel == PT_TUNNEL_GENEVE ? sizeof(struct pt_fence_option) : 0;
}

/* The parts of `fib` that its caller has not set. */
PT_FUNCTION int pt_fib_of_tunnel(const struct pt_endpoint* endpoint, __u32 tos, struct bpf_fib_lookup* fib) {
  if (!endpoint || !fib) return -PT_DROP_NO_FIB_ROUTE;
  fib->l4_protocol = PT_IP_UDP;
  if (pt_is_mapped(&endpoint->remote)) {
    fib->family = PT_FAMILY_IPV4;
    fib->tos = tos;
    fib->ipv4_src = pt_mapped_ipv4(&endpoint->local);
    fib->ipv4_dst = pt_mapped_ipv4(&endpoint->remote);
  } else {
    fib->family = PT_FAMILY_IPV6;
    fib->flowinfo = bpf_htonl((__u32)tos << 20);
    __builtin_memcpy(fib->ipv6_src, &endpoint->local, sizeof(fib->ipv6_src));
    __builtin_memcpy(fib->ipv6_dst, &endpoint->remote, sizeof(fib->ipv6_dst));
  }
  return PT_GO_ON;
}

/* The way to peer `id` for the frame as it is. packet->mtu is then the largest inner IP packet for that way.
 */
PT_STAGE int pt_tunnel_route(struct pt_packet* packet, __u32 id, const struct pt_endpoint* endpoint, __u8 tos,
                             __u16 source_port, struct bpf_fib_lookup* fib) {
  const bool six = !pt_is_mapped(&endpoint->remote);
  const __u32 overhead = pt_overhead(six) + pt_option_bytes(packet, endpoint);
  const __u32 total = pt_length(packet->ctx) - sizeof(struct pt_ethernet) + overhead;
  if (six == pt_is_mapped(&endpoint->local)) return -PT_DROP_NO_FIB_ROUTE;
  fib->sport = bpf_htons(source_port);
  fib->dport = pt_port_of_tunnel(packet, endpoint);
  fib->tot_len = total; /* of more than it holds the MTU speaks, below */
  PT_TRY(pt_fib_of_tunnel(endpoint, tos, fib));
  packet->to_peer = true;
  const int found = pt_unknown(pt_route(packet, fib));
  const bool by_host = found == -PT_DROP_NEIGHBOUR_UNRESOLVED && pt_can_hand(packet);
  if (found != PT_GO_ON && found != -PT_DROP_TOO_BIG && !by_host) return found;
  if (by_host) PT_TRY(pt_fib_to_host(packet->segment, fib));
  const __u32 mtu = pt_within_path_mtu(id, fib->tot_len); /* where the lookup leaves the way's MTU */
  packet->mtu = mtu - overhead;
  pt_at(TUNNEL);
  pt_tell(mtu, packet->mtu);
  packet->by_host = pt_unknown(by_host);
  if (found == -PT_DROP_TOO_BIG || total > mtu) return -PT_DROP_TOO_BIG;
  pt_at(ROUTE);
  const struct pt_port* port;
  return pt_egress(packet, fib->ifindex, PT_ROLE_UNDERLAY, PT_VNI_ANY, &port);
}

PT_STAGE void pt_write_udp(struct pt_udp* udp, struct pt_vxlan* vxlan, const struct pt_envelope* from) {
  udp->source_be = bpf_htons(from->source_port);
  udp->destination_be = from->port_be;
  udp->length_be = bpf_htons(from->inner_length + sizeof(*udp) + sizeof(*vxlan));
  udp->checksum = 0;
  vxlan->flags_be = from->word_be;
  vxlan->vni_be = bpf_htonl(from->vni << 8);
}

PT_STAGE int pt_put_on4(struct xdp_md* ctx, const struct pt_envelope* from) {
  if (bpf_xdp_adjust_head(ctx, -(int)sizeof(struct pt_envelope4))) return -PT_DROP_NO_HEADROOM;
  struct pt_envelope4* envelope = PT_HEADER(ctx, 0, struct pt_envelope4);
  if (!envelope) return -PT_DROP_NO_HEADROOM;
  struct pt_ipv4* ip = &envelope->ip;
  pt_copy_mac(envelope->ethernet.destination, from->dmac);
  pt_copy_mac(envelope->ethernet.source, from->smac);
  envelope->ethernet.type_be = bpf_htons(PT_ETHERTYPE_IPV4);
  ip->version_length = 0x45;
  ip->tos = from->tos;
  ip->total_length_be = bpf_htons(from->inner_length + sizeof(*envelope) - sizeof(struct pt_ethernet));
  ip->id_be = 0;
  ip->fragment_be = bpf_htons(0x4000); /* don't fragment: RFC 6864 then allows a constant id */
  ip->ttl = PT_ENVELOPE_TTL;
  ip->protocol = PT_IP_UDP;
  ip->source_be = pt_mapped_ipv4(&from->local);
  ip->destination_be = pt_mapped_ipv4(&from->remote);
  const __u64 sum = (__u64)bpf_htons(0x4500 | from->tos) + ip->total_length_be + ip->fragment_be +
                    bpf_htons(PT_ENVELOPE_TTL << 8 | PT_IP_UDP) + ip->source_be + (__u64)ip->destination_be;
  ip->checksum = ~pt_fold(sum);
  pt_write_udp(&envelope->udp, &envelope->vxlan, from);
  return PT_GO_ON;
}

PT_STAGE int pt_put_on6(struct xdp_md* ctx, const struct pt_envelope* from) {
  if (bpf_xdp_adjust_head(ctx, -(int)sizeof(struct pt_envelope6))) return -PT_DROP_NO_HEADROOM;
  struct pt_envelope6* envelope = PT_HEADER(ctx, 0, struct pt_envelope6);
  if (!envelope) return -PT_DROP_NO_HEADROOM;
  struct pt_ipv6* ip = &envelope->ip;
  struct pt_udp* udp = &envelope->udp;
  pt_copy_mac(envelope->ethernet.destination, from->dmac);
  pt_copy_mac(envelope->ethernet.source, from->smac);
  envelope->ethernet.type_be = bpf_htons(PT_ETHERTYPE_IPV6);
  ip->version_class_flow_be = bpf_htonl(6u << 28 | (__u32)from->tos << 20);
  ip->next_header = PT_IP_UDP;
  ip->hop_limit = PT_ENVELOPE_TTL;
  __builtin_memcpy(ip->source_be, &from->local, sizeof(ip->source_be));
  __builtin_memcpy(ip->destination_be, &from->remote, sizeof(ip->destination_be));
  pt_write_udp(udp, &envelope->vxlan, from);
  ip->payload_length_be = udp->length_be;
  const __u64 sum = pt_sum_address(&from->local, true) + pt_sum_address(&from->remote, true) +
                    bpf_htons(PT_IP_UDP) + 2 * (__u64)udp->length_be + udp->source_be + udp->destination_be +
                    envelope->vxlan.flags_be + envelope->vxlan.vni_be + from->inner_sum;
  const __u16 checksum = ~pt_fold(sum);
  udp->checksum = checksum ? checksum : 0xffff;
  return PT_GO_ON;
}

PT_FUNCTION int pt_put_on(struct xdp_md* ctx, const struct pt_envelope* from) {
  if (!from) return -PT_DROP_NO_HEADROOM;
  return pt_is_mapped(&from->remote) ? pt_put_on4(ctx, from) : pt_put_on6(ctx, from);
}

/* Puts the tunnel headers in front of a frame whose inner MACs are set, and sends it to the endpoint. `flow`
 * is what was read of the frame, NULL if it is no packet that was. */
PT_STAGE int pt_tunnel_send(struct pt_packet* packet, const struct pt_endpoint* endpoint,
                            const struct pt_flow* flow, __u8 tos, __u16 source_port,
                            const struct bpf_fib_lookup* fib, int verdict) {
  pt_at(TUNNEL);
  const __u32 options = pt_option_bytes(packet, endpoint);
  struct pt_envelope envelope = {
      .local = endpoint->local,
      .remote = endpoint->remote,
      .vni = packet->vni,
      .source_port = source_port,
      .word_be = endpoint->tunnel == PT_TUNNEL_GENEVE ? pt_geneve_word(options)
                                                      : bpf_htonl((__u32)PT_VXLAN_FLAG_VNI << 24),
      .port_be = pt_port_of_tunnel(packet, endpoint),
      .inner_length = pt_length(packet->ctx) + options,
      .tos = tos,
  };
  if (!pt_is_mapped(&endpoint->remote)) {
    const int sum =
        flow ? pt_sum_frame(packet->ctx, flow) : pt_sum_bytes(packet->ctx, 0, pt_length(packet->ctx));
    if (sum < 0) return sum;
    envelope.inner_sum = options ? pt_fold((__u64)sum + pt_sum_fence(packet)) : sum;
  }
  if (options) PT_TRY(pt_write_fence(packet));
  pt_copy_mac(envelope.dmac, fib->dmac);
  pt_copy_mac(envelope.smac, fib->smac);
  PT_TRY(pt_put_on(packet->ctx, &envelope));
  if (packet->by_host && packet->segment)
    return pt_leave_by(egress_local, packet->segment->host_port, PT_VERDICT_HANDED);
  return pt_leave_by(egress_underlay, fib->ifindex, verdict);
}

#endif
