/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Default deny (SPEC 1.6): one row of {source class, destination class, protocol, port class} allows a
 * packet. A TCP packet with ACK or RST also passes by the row of the opposite direction, unless that rule is
 * strict.
 */
#ifndef POSTERN_POLICY_H
#define POSTERN_POLICY_H

#include "packet.h"

PT_STAGE const struct pt_rule* pt_rule_for(void* rules, __u32 slot, __u8 protocol, __u16 port, __u16 from,
                                           __u16 to) {
  const __u32 line = (slot * PT_PROTO_COUNT + protocol) * PT_PORT_LINES + port / PT_PORT_LINE;
  const struct pt_port_line* ports_of_line = bpf_map_lookup_elem(&port_classes, &line);
  if (!ports_of_line) return NULL;
  const struct pt_policy_key key = {
      .source_class = from,
      .destination_class = to,
      .protocol = protocol,
      .port_class = ports_of_line->class_of[port % PT_PORT_LINE],
  };
  return bpf_map_lookup_elem(rules, &key);
}

PT_STAGE int pt_policy(const struct pt_packet* packet, const struct pt_flow* flow,
                       const struct pt_owner* source, const struct pt_owner* destination) {
  const __u32 slot = packet->generation.slot;
  if (!destination) return -PT_DROP_NO_ROUTE; /* nobody's: no class to judge by */
  void* rules = pt_inner(policy, slot);
  if (!rules) return -PT_DROP_TABLE_MISSING;
  const __u16 from = source->class_id, to = destination->class_id;
  if (pt_rule_for(rules, slot, flow->protocol, flow->destination_port, from, to)) return PT_GO_ON;
  if (!flow->reply) return -PT_DROP_POLICY_DENIED;
  const struct pt_rule* asked = pt_rule_for(rules, slot, PT_PROTO_TCP, flow->source_port, to, from);
  return asked && !(asked->flags & PT_RULE_STRICT) ? PT_GO_ON : -PT_DROP_POLICY_DENIED;
}

#endif
