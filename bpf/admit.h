/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who sent it, may they use this segment, and is the frame inside one that a gateway should get (SPEC 1.4).
 */
#ifndef POSTERN_ADMIT_H
#define POSTERN_ADMIT_H

#include "tunnel.h"

/* The peer is noted first, so that whatever is refused from here on is counted against it. */
PT_STAGE int pt_admit(struct pt_packet* packet, const struct pt_flow* outer, const struct pt_tunnel* tunnel,
                      const struct pt_segment** segment) {
  const __u32 slot = packet->generation.slot;
  void* known = pt_inner(peers, slot);
  void* domains = pt_inner(segments, slot);
  if (!known || !domains) return -PT_DROP_TABLE_MISSING;
  const struct pt_peer* peer = bpf_map_lookup_elem(known, &outer->source);
  if (!peer) return -PT_DROP_PEER_UNKNOWN;
  packet->sender = peer->id;
  packet->sender_kind = peer->kind;
  packet->sender_flags = peer->flags;
  if (peer->state == PT_PEER_REVOKED) return -PT_DROP_PEER_REVOKED;
  if (peer->state != PT_PEER_ACTIVE) return -PT_DROP_PEER_EXPIRED;
  if (!tunnel->known) return -PT_DROP_BAD_TUNNEL;
  PT_TRY(pt_read_fence(packet, tunnel->length - tunnel->options, tunnel->options));

  packet->vni = tunnel->vni;
  if (packet->vni == PT_VNI_ANY) return -PT_DROP_VNI_DENIED;
  *segment = bpf_map_lookup_elem(domains, &packet->vni);
  if (!*segment) return -PT_DROP_VNI_DENIED;
  return pt_in_segment(peer->segments, (*segment)->index) ? PT_GO_ON : -PT_DROP_VNI_DENIED;
}

/* The inner frame is for us, or a question to all that a gateway may answer, and of a kind that we carry. */
PT_FUNCTION int pt_admit_frame(struct xdp_md* ctx, const struct pt_gateway* us, const struct pt_link* link) {
  const struct pt_ethernet* ethernet = PT_HEADER(ctx, 0, struct pt_ethernet);
  if (!ethernet || !us || !link) return -PT_DROP_MALFORMED;
  if (!link->group && !pt_same_mac(ethernet->destination, us->mac)) return -PT_DROP_NOT_OUR_MAC;
  if (link->tags) return -PT_DROP_VLAN_TAG;
  if (link->type == PT_ETHERTYPE_ARP) {
    return link->group && !link->broadcast ? -PT_DROP_INNER_MULTICAST : PT_GO_ON;
  }
  return pt_is_ip(link->type) ? PT_GO_ON : -PT_DROP_INNER_ETHERTYPE;
}

/* Addresses that can be forwarded; everything that is sent to many ends here. */
PT_FUNCTION int pt_admit_addresses(const struct pt_link* link, const struct pt_flow* flow) {
  if (!link || !flow) return -PT_DROP_MALFORMED;
  if (link->group) return -PT_DROP_INNER_MULTICAST;
  if (pt_is_multicast(flow->family, &flow->source)) return -PT_DROP_INNER_MULTICAST;
  if (pt_is_multicast(flow->family, &flow->destination)) return -PT_DROP_INNER_MULTICAST;
  if (pt_is_link_local(flow->family, &flow->source)) return -PT_DROP_LINK_LOCAL;
  return pt_is_link_local(flow->family, &flow->destination) ? -PT_DROP_LINK_LOCAL : PT_GO_ON;
}

#endif
