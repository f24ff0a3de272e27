/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who owns an address, and whether the sender may use it as a source (SPEC 1.5). */
#ifndef POSTERN_OWN_H
#define POSTERN_OWN_H

#include "packet.h"

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

/* A peer may source what it owns, and nothing else. */
PT_STAGE int pt_own_peer(const struct pt_packet* packet, const struct pt_owner* source) {
  if (source && source->kind == PT_OWNER_RESOURCE) return -PT_DROP_UNHELD;
  if (!source || source->kind != PT_OWNER_PEER || source->id != packet->sender) return -PT_DROP_SOURCE_DENIED;
  return PT_GO_ON;
}

/* A site may not source what the mesh gave to others. What nobody owns is not the mesh's: the caller looks
 * further. */
PT_STAGE int pt_own_site(const struct pt_owner* source) {
  return pt_is_owned(source) && source->kind != PT_OWNER_LOCAL ? -PT_DROP_SOURCE_DENIED : PT_GO_ON;
}

/* On the underlay, outside of a tunnel: nothing from or to an address that any segment owns (SPEC 1.3). */
PT_STAGE int pt_untunnelled(const struct pt_packet* packet, const struct pt_flow* outer) {
  const struct pt_owner* owner;
  PT_TRY(pt_owner_of(packet, PT_VNI_ANY, outer->family, &outer->source, &owner));
  if (owner) return -PT_DROP_UNTUNNELLED;
  PT_TRY(pt_owner_of(packet, PT_VNI_ANY, outer->family, &outer->destination, &owner));
  return owner ? -PT_DROP_UNTUNNELLED : PT_VERDICT_PASS;
}

#endif
