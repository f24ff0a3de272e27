/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Default deny (SPEC 1.6): one row of {source class, destination class, protocol, port class} allows a
 * packet. Replies pass by the row of the opposite direction, unless that rule is strict: TCP ones when they
 * have ACK or RST set, UDP and echo ones when flow.h remembers the question. A denial costs two rows and one
 * flow at most, however many rules there are.
 */
#ifndef POSTERN_POLICY_H
#define POSTERN_POLICY_H

#include "account.h"
#include "flow.h"

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
  pt_tell(port_class, key.port_class);
  return bpf_map_lookup_elem(rules, &key);
}

PT_STAGE void pt_count_rule(const struct pt_case* about, __u32 rule, enum pt_permission permission) {
  pt_tell(rule, rule + 1);
  pt_tell(permission, permission);
  if (PT_DRY || rule >= PT_MAX_RULE_COUNTS) return;
  const __u32 row = about->rule_bank * PT_MAX_RULE_COUNTS + rule;
  pt_count(bpf_map_lookup_elem(&rule_counts, &row), about->length);
}

/* A packet that no row of its own direction allows: the answer to one that a row of the other did? */
PT_STAGE int pt_answers(struct xdp_md* ctx, const struct pt_case* about, const struct pt_flow* flow,
                        void* rules) {
  struct pt_flow_entry* entry = NULL;
  if (!flow->reply) {
    if (!pt_may_answer_flow(flow)) return -PT_DROP_POLICY_DENIED;
    entry = pt_flow_answered(ctx, about, flow);
    if (!entry) return -PT_DROP_POLICY_DENIED;
    if (entry->generation == about->generation) {
      pt_count_rule(about, entry->rule, PT_BY_FLOW);
      return PT_GO_ON;
    }
  }
  const struct pt_rule* asked = pt_rule_for(rules, about->slot, flow->protocol, pt_asked_port(flow),
                                            about->to_class, about->from_class);
  if (!asked || (asked->flags & PT_RULE_STRICT)) return -PT_DROP_POLICY_DENIED;
  if (entry && !PT_DRY) {
    entry->rule = asked->rule;
    entry->generation = about->generation;
  }
  pt_count_rule(about, asked->rule, entry ? PT_BY_FLOW : PT_BY_REPLY);
  return PT_GO_ON;
}

/* A later fragment has no ports, and a protocol that is not understood has none that could be read: rules may
 * allow both, by the protocol alone. Everything else that transport.h refused stays refused. */
PT_STAGE int pt_without_ports(struct pt_flow* flow, int transport) {
  const bool later = transport == -PT_DROP_FRAGMENT && flow->fragment == PT_FRAGMENT_LATER;
  if (!later && transport != -PT_DROP_L4_UNSUPPORTED) return transport;
  flow->protocol = PT_PROTO_OTHER;
  flow->source_port = 0;
  flow->destination_port = flow->next_header;
  const bool six = flow->family == PT_FAMILY_IPV6;
  if (flow->next_header == PT_IP_TCP) flow->protocol = PT_PROTO_TCP;
  if (flow->next_header == PT_IP_UDP) flow->protocol = PT_PROTO_UDP;
  if (flow->next_header == (six ? PT_IP_ICMPV6 : PT_IP_ICMP)) {
    flow->protocol = six ? PT_PROTO_ICMPV6 : PT_PROTO_ICMP;
  }
  return PT_GO_ON;
}

PT_STAGE int pt_policy_fragment(const struct pt_case* about, const struct pt_flow* flow, void* rules) {
  const struct pt_policy_key key = {.source_class = about->from_class,
                                    .destination_class = about->to_class,
                                    .protocol = flow->protocol,
                                    .fragments = 1};
  const struct pt_rule* rule = bpf_map_lookup_elem(rules, &key);
  if (!rule) return -PT_DROP_FRAGMENT;
  pt_count_rule(about, rule->rule, PT_BY_FRAGMENT);
  return PT_GO_ON;
}

PT_FUNCTION int pt_ask_rules(struct xdp_md* ctx, const struct pt_case* about, const struct pt_flow* flow) {
  if (!about || !flow) return -PT_DROP_TABLE_MISSING;
  const __u32 slot = about->slot;
  void* rules = pt_inner(policy, slot);
  if (!rules) return -PT_DROP_TABLE_MISSING;
  if (flow->fragment == PT_FRAGMENT_LATER) return pt_policy_fragment(about, flow, rules);
  const struct pt_rule* rule =
      pt_rule_for(rules, slot, flow->protocol, flow->destination_port, about->from_class, about->to_class);
  if (!rule && flow->protocol == PT_PROTO_OTHER) return -PT_DROP_L4_UNSUPPORTED;
  if (!rule) return pt_answers(ctx, about, flow, rules);
  pt_count_rule(about, rule->rule, PT_BY_RULE);
  if (!pt_opens_flow(flow) || flow->quoted || (rule->flags & PT_RULE_STRICT)) return PT_GO_ON;
  return pt_remember_flow(ctx, about, flow, rule->rule);
}

PT_STAGE int pt_policy(const struct pt_packet* packet, const struct pt_flow* flow,
                       const struct pt_owner* source, const struct pt_owner* destination) {
  if (!destination) return -PT_DROP_NO_ROUTE; /* nobody's: no class to judge by */
  struct pt_case* about = pt_case_of(packet);
  about->from_class = source->class_id;
  about->to_class = destination->class_id;
  pt_tell(from_class, about->from_class);
  pt_tell(to_class, about->to_class);
  pt_tell(protocol, flow->protocol);
  pt_tell(quoted, flow->quoted);
  return pt_ask_rules(packet->ctx, about, flow);
}

#endif
