/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* "Too big" from a router of the underlay, about a tunnel packet of ours (SPEC 1.8). */
#ifndef POSTERN_UNDERLAY_ERROR_H
#define POSTERN_UNDERLAY_ERROR_H

#include "mtu.h"
#include "quote.h"

/* The MTU that the error names, 0 if it is no "too big". RFC 1191 4, RFC 4443 3.2. */
PT_STAGE __u32 pt_named_mtu(struct xdp_md* ctx, const struct pt_flow* error) {
  struct pt_icmp icmp;
  if (bpf_xdp_load_bytes(ctx, error->transport_offset, &icmp, sizeof(icmp))) return 0;
  if (error->family == PT_FAMILY_IPV4)
    return icmp.type == 3 && icmp.code == 4 ? bpf_ntohl(icmp.rest) & 0xffff : 0;
  return icmp.type == 2 ? bpf_ntohl(icmp.rest) : 0;
}

/* Learns from the packet and lets it go on to the host, whose business it may be as well. */
PT_STAGE int pt_heed_error(const struct pt_packet* packet, struct pt_flow* outer) {
  struct pt_flow* quote = pt_clean(packet->work->quote);
  const __u32 slot = packet->generation.slot;
  if (outer->next_header != PT_IP_ICMP && outer->next_header != PT_IP_ICMPV6) return PT_GO_ON;
  if (!pt_is_underlay_address(packet, &outer->destination)) return PT_GO_ON;
  if (pt_parse_transport(packet->ctx, outer) || !outer->error) return PT_GO_ON;
  const __u32 mtu = pt_named_mtu(packet->ctx, outer);
  if (!mtu || pt_read_quote(packet->ctx, outer, quote)) return PT_GO_ON;
  const __u16 port_be = bpf_htons(quote->destination_port);
  const struct pt_gateway* us = packet->generation.gateway;
  if (quote->protocol != PT_PROTO_UDP || (port_be != us->tunnel_port_be && port_be != us->geneve_port_be))
    return PT_GO_ON;
  void* known = pt_inner(peers, slot);
  if (!known) return -PT_DROP_TABLE_MISSING;
  const struct pt_peer* peer = bpf_map_lookup_elem(known, &quote->destination);
  if (peer && peer->state == PT_PEER_ACTIVE) pt_lower_path_mtu(peer->id, mtu);
  return PT_GO_ON;
}

#endif
