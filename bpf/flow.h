/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Replies of protocols whose packets do not tell by themselves that they are replies (SPEC 1.6). A UDP packet
 * or an echo request that a rule let go is remembered, and what comes back between the same addresses, ports
 * and identifiers passes by that memory. Judged by ports alone, "A may ask B:53" would let B reach each of
 * A's ports from its port 53.
 *
 * An entry is believed under the generation that wrote it. Under any other, the rule of the way out is asked
 * again: a flow that a new generation allows goes on, and one that it does not ends at the flip. Entries that
 * nobody used for PT_FLOW_IDLE_NS are dead; the table itself drops the least recently used.
 */
#ifndef POSTERN_FLOW_H
#define POSTERN_FLOW_H

#include "packet.h"
#include "trace.h"

#define PT_ICMP_ECHO_REQUEST (8 << 8)
#define PT_ICMP_ECHO_REPLY 0
#define PT_ICMPV6_ECHO_REQUEST (128 << 8)
#define PT_ICMPV6_ECHO_REPLY (129 << 8)

/* What the kernel says when another CPU holds the entry's place, by its version. */
#define PT_EBUSY 16
#define PT_EDEADLK 35
#define PT_ETIMEDOUT 110

PT_STAGE bool pt_opens_flow(const struct pt_flow* flow) {
  if (flow->protocol == PT_PROTO_UDP) return true;
  if (flow->protocol == PT_PROTO_ICMP) return flow->destination_port == PT_ICMP_ECHO_REQUEST;
  return flow->protocol == PT_PROTO_ICMPV6 && flow->destination_port == PT_ICMPV6_ECHO_REQUEST;
}

PT_STAGE bool pt_may_answer_flow(const struct pt_flow* flow) {
  if (flow->protocol == PT_PROTO_UDP) return true;
  if (flow->protocol == PT_PROTO_ICMP) return flow->destination_port == PT_ICMP_ECHO_REPLY;
  return flow->protocol == PT_PROTO_ICMPV6 && flow->destination_port == PT_ICMPV6_ECHO_REPLY;
}

/* What a policy knows the question of this answer by. */
PT_STAGE __u16 pt_asked_port(const struct pt_flow* answer) {
  if (answer->protocol == PT_PROTO_ICMP) return PT_ICMP_ECHO_REQUEST;
  return answer->protocol == PT_PROTO_ICMPV6 ? PT_ICMPV6_ECHO_REQUEST : answer->source_port;
}

/* The key of the packet that asked: this one, or the one that it answers. */
PT_STAGE bool pt_flow_key_of(struct xdp_md* ctx, const struct pt_case* about, const struct pt_flow* flow,
                             bool answer, struct pt_flow_key* key) {
  __u16 source_port = flow->source_port, destination_port = flow->destination_port;
  if (flow->protocol != PT_PROTO_UDP) {
    const __u32 at = flow->transport_offset + offsetof(struct pt_icmp, rest);
    if (bpf_xdp_load_bytes(ctx, at, &source_port, sizeof(source_port))) return false;
    destination_port = source_port;
  }
  __builtin_memset(key, 0, sizeof(*key));
  key->source = answer ? flow->destination : flow->source;
  key->destination = answer ? flow->source : flow->destination;
  key->source_port = answer ? destination_port : source_port;
  key->destination_port = answer ? source_port : destination_port;
  key->vni = about->vni;
  key->protocol = flow->protocol;
  return true;
}

PT_STAGE int pt_flow_failure(long error) {
  const bool busy = error == -PT_EBUSY || error == -PT_EDEADLK || error == -PT_ETIMEDOUT;
  return busy ? -PT_DROP_FLOW_BUSY : -PT_DROP_FLOW_FULL;
}

/* A rule let this packet go: its answers shall find that. Without that memory they would be dropped, so the
 * packet is, and is counted. */
PT_STAGE int pt_remember_flow(struct xdp_md* ctx, const struct pt_case* about, const struct pt_flow* flow,
                              __u32 rule) {
  struct pt_flow_key key __attribute__((aligned(8)));
  if (!pt_flow_key_of(ctx, about, flow, false, &key)) return -PT_DROP_MALFORMED;
  const __u64 now = bpf_ktime_get_coarse_ns();
  struct pt_flow_entry* known = bpf_map_lookup_elem(&flows, &key);
  if (PT_DRY) {
    if (!known) pt_would(REMEMBER);
    return PT_GO_ON;
  }
  if (known) {
    if (known->generation != about->generation) {
      known->rule = rule;
      known->generation = about->generation;
    }
    if (now - known->seen_ns > PT_FLOW_TOUCH_NS) known->seen_ns = now;
    return PT_GO_ON;
  }
  const struct pt_flow_entry entry = {.generation = about->generation, .seen_ns = now, .rule = rule};
  const long error = bpf_map_update_elem(&flows, &key, &entry, BPF_ANY);
  return error ? pt_flow_failure(error) : PT_GO_ON;
}

/* The living entry of the flow that this packet answers, or NULL. */
PT_STAGE struct pt_flow_entry* pt_flow_answered(struct xdp_md* ctx, const struct pt_case* about,
                                                const struct pt_flow* flow) {
  struct pt_flow_key key __attribute__((aligned(8)));
  if (!pt_flow_key_of(ctx, about, flow, true, &key)) return NULL;
  struct pt_flow_entry* entry = bpf_map_lookup_elem(&flows, &key);
  if (!entry) return NULL;
  const __u64 now = bpf_ktime_get_coarse_ns(), idle = now - entry->seen_ns;
  if ((__s64)idle > (__s64)PT_FLOW_IDLE_NS) return NULL;
  if (!PT_DRY && (__s64)idle > (__s64)PT_FLOW_TOUCH_NS) entry->seen_ns = now;
  return entry;
}

#endif
