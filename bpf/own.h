/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who owns an address, and whether the sender may use it as a source (SPEC 1.5). A resource's holder stands
 * in a swapped row, its fence and its deadline in an unswapped one; they are believed together only (2.5).
 */
#ifndef POSTERN_OWN_H
#define POSTERN_OWN_H

#include "incident.h"
#include "packet.h"

#define PT_WAKE_AGAIN_NS 1000000000ull

/* Longest prefix of the segment that holds the address. *owner is NULL when nobody has it. */
PT_STAGE int pt_owner_of(const struct pt_packet* packet, __u32 vni, __u8 family,
                         const struct pt_address* address, const struct pt_owner** owner) {
  const __u32 slot = packet->generation.slot;
  void* trie;
  *owner = NULL;
  if (family == PT_FAMILY_IPV4) {
    struct pt_owner_key4 key = {.prefixlen = 64, .vni_be = bpf_htonl(vni)};
    *(pt_word32*)key.address = pt_mapped_ipv4(address);
    trie = pt_inner(owners4, slot);
    if (!trie) return -PT_DROP_TABLE_MISSING;
    *owner = bpf_map_lookup_elem(trie, &key);
  } else {
    struct pt_owner_key6 key __attribute__((aligned(8))) = {.prefixlen = 160, .vni_be = bpf_htonl(vni)};
    __builtin_memcpy(key.address, address->bytes, sizeof(key.address));
    trie = pt_inner(owners6, slot);
    if (!trie) return -PT_DROP_TABLE_MISSING;
    *owner = bpf_map_lookup_elem(trie, &key);
  }
  return PT_GO_ON;
}

/* Is it the gateway's own address of the segment? */
PT_STAGE bool pt_is_segment_address(const struct pt_segment* segment, const struct pt_address* address) {
  if (pt_no_address(address)) return false;
  return pt_same_address(&segment->gateway4, address) || pt_same_address(&segment->gateway6, address);
}

/* Someone's by name; a default route steers traffic but makes no address the mesh's. */
PT_STAGE bool pt_is_owned(const struct pt_owner* owner) {
  return owner && !(owner->flags & PT_OWNER_DEFAULT_ROUTE);
}

/* The agent should sync: somebody knows of a newer holder. At most once a second and resource. */
PT_STAGE void pt_wake(__u32 resource) {
  pt_would(WAKE);
  if (PT_DRY) return;
  const struct pt_neighbour key = {.ifindex = resource, .address = {.bytes = {0xff}}};
  const __u64 now = bpf_ktime_get_boot_ns();
  const __u64* woken = bpf_map_lookup_elem(&neighbours_asked, &key);
  if (woken && now - *woken < PT_WAKE_AGAIN_NS) return;
  struct pt_event event = {.type = PT_EVENT_FUTURE_EPOCH, .ifindex = resource};
  if (bpf_ringbuf_output(&events, &event, sizeof(event), 0) != 0) {
    pt_lost(PT_LOST_REQUESTS);
    return;
  }
  bpf_map_update_elem(&neighbours_asked, &key, &now, BPF_ANY);
}

/* The epoch that a packet came under, before anything else is asked: an old one is refused whoever sends it.
 */
PT_STAGE int pt_check_epoch(const struct pt_packet* packet, __u32 resource, __u64 fence) {
  if (!packet->fenced) return PT_GO_ON;
  if (packet->fence_resource != resource) return -PT_DROP_BAD_TUNNEL;
  if (packet->fence_epoch < fence) return -PT_DROP_STALE_EPOCH;
  if (packet->fence_epoch == fence) return PT_GO_ON;
  pt_wake(resource);
  return -PT_DROP_FUTURE_EPOCH;
}

/* Who holds the resource, if its row, its fence and its deadline agree that somebody does. `claimant`: whose
 * packet this is, 0 when the question is only where to send one. Of all packets only these read a clock. */
PT_STAGE int pt_holder_of(const struct pt_packet* packet, __u32 resource, __u32 claimant,
                          const struct pt_resource** held) {
  const __u32 slot = packet->generation.slot;
  const volatile struct pt_fence* fence = bpf_map_lookup_elem(&fences, &resource);
  void* rows = pt_inner(resources, slot);
  if (!fence || !rows) return -PT_DROP_TABLE_MISSING;
  const __u64 lowest = fence->epoch;
  pt_tell(resource, resource + 1);
  pt_tell(fence_epoch, lowest);
  pt_tell(deadline_boot_ns, fence->deadline_boot_ns);
  if (claimant) PT_TRY(pt_check_epoch(packet, resource, lowest));
  const struct pt_resource* row = bpf_map_lookup_elem(rows, &resource);
  if (!row) return -PT_DROP_UNHELD;
  pt_tell(holder, row->holder);
  pt_tell(row_epoch, row->epoch);
  if (claimant && row->holder != claimant) return -PT_DROP_NOT_HOLDER;
  if (row->epoch < lowest) return -PT_DROP_STALE_EPOCH;
  if (row->epoch > lowest) return -PT_DROP_FUTURE_EPOCH;
  if (bpf_ktime_get_boot_ns() >= fence->deadline_boot_ns) return -PT_DROP_LEASE_EXPIRED;
  *held = row;
  return PT_GO_ON;
}

/* A gateway may send what a peer behind it owns, if the snapshot says that it relays for that peer. */
PT_STAGE int pt_own_via(const struct pt_packet* packet, __u32 owner) {
  const __u32 slot = packet->generation.slot, key = PT_ENDPOINT_KEY(owner, 0);
  void* known = pt_inner(endpoints, slot);
  if (!known) return -PT_DROP_TABLE_MISSING;
  const struct pt_endpoint* endpoint = bpf_map_lookup_elem(known, &key);
  if (!endpoint || !endpoint->via || endpoint->via != packet->sender) return -PT_DROP_SOURCE_DENIED;
  if (endpoint->state == PT_PEER_REVOKED) return -PT_DROP_PEER_REVOKED;
  return endpoint->state == PT_PEER_ACTIVE ? PT_GO_ON : -PT_DROP_PEER_EXPIRED;
}

/* May this sender (0: the site) send what the service answers? */
PT_STAGE int pt_own_backend(const struct pt_packet* packet, __u32 service) {
  const __u32 slot = packet->generation.slot;
  const struct pt_backend_key key = {.service = service, .item = PT_BACKEND_SENDER | packet->sender};
  void* known = pt_inner(backends, slot);
  if (!known) return -PT_DROP_TABLE_MISSING;
  return bpf_map_lookup_elem(known, &key) ? PT_GO_ON : -PT_DROP_SOURCE_DENIED;
}

/* A peer may source what it owns or holds, or stands for, and nothing else. */
PT_STAGE int pt_own_peer(const struct pt_packet* packet, const struct pt_owner* source) {
  const struct pt_resource* held;
  if (!source) return -PT_DROP_SOURCE_DENIED;
  switch (source->kind) {
    case PT_OWNER_PEER:
      return source->id == packet->sender ? PT_GO_ON : pt_own_via(packet, source->id);
    case PT_OWNER_RESOURCE:
      return pt_holder_of(packet, source->id, packet->sender, &held);
    case PT_OWNER_SERVICE:
      return pt_own_backend(packet, source->id);
    default:
      return -PT_DROP_SOURCE_DENIED;
  }
}

/* A site may not source what the mesh gave to others. What nobody owns is not the mesh's: the caller looks
 * further. */
PT_STAGE int pt_own_site(struct pt_packet* packet, const struct pt_owner* source) {
  const struct pt_resource* held;
  if (!pt_is_owned(source)) return PT_GO_ON;
  switch (source->kind) {
    case PT_OWNER_LOCAL:
      return PT_GO_ON;
    case PT_OWNER_RESOURCE:
      PT_TRY(pt_holder_of(packet, source->id, PT_HOLDER_LOCAL, &held));
      packet->fenced = true;
      packet->fence_resource = source->id;
      packet->fence_epoch = held->epoch;
      return PT_GO_ON;
    case PT_OWNER_SERVICE:
      return pt_own_backend(packet, source->id);
    default:
      return -PT_DROP_SOURCE_DENIED;
  }
}

/* A service's address speaks by its own door alone, and never first. */
PT_STAGE int pt_own_door(const struct pt_packet* packet, const struct pt_flow* flow,
                         const struct pt_owner* source) {
  const __u32 slot = packet->generation.slot;
  if (!source || source->kind != PT_OWNER_SERVICE) return PT_GO_ON;
  void* known = pt_inner(services, slot);
  if (!known) return -PT_DROP_TABLE_MISSING;
  const struct pt_service* service = bpf_map_lookup_elem(known, &source->id);
  if (!service) return -PT_DROP_TABLE_MISSING;
  if (flow->protocol != service->protocol || flow->source_port != service->port)
    return -PT_DROP_SOURCE_DENIED;
  return flow->protocol != PT_PROTO_TCP || flow->reply ? PT_GO_ON : -PT_DROP_SOURCE_DENIED;
}

/* On the underlay, outside of a tunnel: nothing from or to an address that any segment owns (SPEC 1.3). */
PT_STAGE int pt_untunnelled(const struct pt_packet* packet, const struct pt_flow* outer) {
  const struct pt_owner* owner;
  PT_TRY(pt_owner_of(packet, PT_VNI_ANY, outer->family, &outer->source, &owner));
  if (owner) return -PT_DROP_UNTUNNELLED;
  PT_TRY(pt_owner_of(packet, PT_VNI_ANY, outer->family, &outer->destination, &owner));
  return owner ? -PT_DROP_UNTUNNELLED : PT_GO_ON;
}

#endif
