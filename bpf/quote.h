/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ICMP errors are judged by the packet that they quote (SPEC 1.5): the error goes to the one who sent that
 * packet, the packet went to somebody whom the error's sender stands for, and a rule let the packet go. Then
 * the error may come from any router on the way whose address nobody else owns, and needs no rule of its own.
 * Without this, path MTU discovery would end at the gateway, or any host could break others' connections.
 */
#ifndef POSTERN_QUOTE_H
#define POSTERN_QUOTE_H

#include "own.h"
#include "policy.h"
#include "tunnel.h"

#define PT_QUOTE_AT 8 /* behind the ICMP header's start */

/* Reads the packet that `error` quotes. */
PT_STAGE int pt_read_quote(struct xdp_md* ctx, const struct pt_flow* error, struct pt_flow* quote) {
  const __u32 type = error->family == PT_FAMILY_IPV4 ? PT_ETHERTYPE_IPV4 : PT_ETHERTYPE_IPV6;
  quote->quoted = true;
  if (pt_parse_ip(ctx, type, error->transport_offset + PT_QUOTE_AT, quote)) return -PT_DROP_ICMP_QUOTE;
  if (pt_parse_transport(ctx, quote)) return -PT_DROP_ICMP_QUOTE;
  return pt_same_address(&quote->source, &error->destination) ? PT_GO_ON : -PT_DROP_ICMP_QUOTE;
}

/* Does the error's sender, a peer or the site, stand for this address? */
PT_STAGE bool pt_stands_for(const struct pt_packet* packet, const struct pt_owner* owner) {
  if (packet->sender) return owner && pt_own_peer(packet, owner) == PT_GO_ON;
  return owner && owner->kind == PT_OWNER_LOCAL;
}

/* Is the error one that its sender may report, about a packet that `destination` sent? */
PT_STAGE int pt_check_error(const struct pt_packet* packet, const struct pt_flow* error,
                            const struct pt_owner* reporter, struct pt_flow* quote,
                            const struct pt_owner** target) {
  if (pt_is_owned(reporter) && !pt_stands_for(packet, reporter)) return -PT_DROP_SOURCE_DENIED;
  PT_TRY(pt_read_quote(packet->ctx, error, quote));
  PT_TRY(pt_owner_of(packet, packet->vni, quote->family, &quote->destination, target));
  return pt_stands_for(packet, *target) ? PT_GO_ON : -PT_DROP_ICMP_QUOTE;
}

/* By a rule, or as an error about a packet that a rule let go the other way. */
PT_STAGE int pt_permit(const struct pt_packet* packet, const struct pt_flow* flow,
                       const struct pt_owner* source, const struct pt_owner* destination) {
  struct pt_flow* quote = pt_clean(packet->work->quote);
  const struct pt_owner* target = NULL;
  if (!flow->error) {
    if (!source) return -PT_DROP_SOURCE_DENIED;
    return pt_policy(packet, flow, source, destination);
  }
  if (!destination) return -PT_DROP_NO_ROUTE;
  PT_TRY(pt_check_error(packet, flow, source, quote, &target));
  if (!target) return -PT_DROP_ICMP_QUOTE;
  return pt_policy(packet, quote, destination, target);
}

#endif
