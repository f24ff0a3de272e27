/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The generation selector and every table. A packet reads the selector once (pt_generation_read) and hands
 * the result down; all swapped tables are reached through it, so no packet can see two generations (SPEC 2).
 *
 * Swapped tables are either arrays with two halves (gateway, port_classes) or arrays of maps with one inner
 * map a slot; a missing inner map is PT_DROP_TABLE_MISSING, never a pass. Unswapped tables (fences, counters,
 * devmaps) say at their definition why a flip need not move them.
 */
#ifndef POSTERN_TABLES_H
#define POSTERN_TABLES_H

#include "abi.h"
#include "vocabulary.h"

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PT_SELECTOR_WORDS);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, __u64);
} selector SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PT_SLOTS);
  __type(key, __u32);
  __type(value, struct pt_gateway);
} gateway SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PT_SLOTS* PT_PROTO_COUNT* PT_PORT_LINES);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct pt_port_line);
} port_classes SEC(".maps");

/* Sizes, not types: clang writes only forward declarations for what an inner map's definition points at. */
#define PT_SWAPPED(name, inner_type, inner_key, inner_value, inner_flags) \
  struct name##_inner {                                                   \
    __uint(type, inner_type);                                             \
    __uint(max_entries, 1);                                               \
    __uint(map_flags, inner_flags);                                       \
    __uint(key_size, sizeof(inner_key));                                  \
    __uint(value_size, sizeof(inner_value));                              \
  };                                                                      \
  struct {                                                                \
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                             \
    __uint(max_entries, PT_SLOTS);                                        \
    __type(key, __u32);                                                   \
    __array(values, struct name##_inner);                                 \
  } name SEC(".maps")

PT_SWAPPED(ports, BPF_MAP_TYPE_HASH, struct pt_port_key, struct pt_port, 0);
PT_SWAPPED(segments, BPF_MAP_TYPE_HASH, __u32, struct pt_segment, 0);
PT_SWAPPED(peers, BPF_MAP_TYPE_HASH, struct pt_address, struct pt_peer, 0);
PT_SWAPPED(endpoints, BPF_MAP_TYPE_HASH, __u32, struct pt_endpoint, 0);
PT_SWAPPED(owners4, BPF_MAP_TYPE_LPM_TRIE, struct pt_owner_key4, struct pt_owner, BPF_F_NO_PREALLOC);
PT_SWAPPED(owners6, BPF_MAP_TYPE_LPM_TRIE, struct pt_owner_key6, struct pt_owner, BPF_F_NO_PREALLOC);
PT_SWAPPED(policy, BPF_MAP_TYPE_HASH, struct pt_policy_key, struct pt_rule, 0);
PT_SWAPPED(rates, BPF_MAP_TYPE_HASH, __u32, struct pt_rate, 0);
PT_SWAPPED(resources, BPF_MAP_TYPE_HASH, __u32, struct pt_resource, 0);
PT_SWAPPED(services, BPF_MAP_TYPE_HASH, __u32, struct pt_service, 0);
PT_SWAPPED(backends, BPF_MAP_TYPE_HASH, struct pt_backend_key, struct pt_backend, 0);

/* Not swapped: a raised epoch or a passed deadline only denies. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PT_MAX_RESOURCES);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct pt_fence);
} fences SEC(".maps");

/* Not swapped: an entry says under which generation it was judged, and is judged anew under another. The
 * config sets its size. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, PT_FLOWS);
  __type(key, struct pt_flow_key);
  __type(value, struct pt_flow_entry);
} flows SEC(".maps");

/* Not swapped: what was taken is taken. Rows are made by the agent, before a generation that needs them. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 2 * PT_MAX_PEERS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u32);
  __type(value, struct pt_bucket);
} buckets SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, 2 * PT_MAX_PEERS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u32);
  __type(value, struct pt_credit);
} credits SEC(".maps");

/* Not swapped: the interfaces of a role come from the config, not from a snapshot. */
struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
  __uint(max_entries, PT_MAX_PORTS);
  __type(key, __u32);
  __type(value, __u32);
} egress_underlay SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
  __uint(max_entries, PT_MAX_PORTS);
  __type(key, __u32);
  __type(value, __u32);
} egress_local SEC(".maps");

/* Not swapped: counters go on across flips and restarts. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, PT_PORT_SLOTS* PT_VERDICT_COUNT);
  __type(key, __u32);
  __type(value, struct pt_count);
} verdicts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, PT_DROP_REASON_COUNT);
  __type(key, __u32);
  __type(value, struct pt_count);
} drops SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, PT_INCIDENT_COUNT);
  __type(key, __u32);
  __type(value, __u64);
} incidents SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct pt_tokens);
} icmp_tokens SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PT_MAX_PEERS + 1); /* ids begin at 1 */
  __type(key, __u32);
  __type(value, struct pt_path_mtu);
} path_mtus SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, PT_SLOTS* PT_MAX_RULE_COUNTS);
  __type(key, __u32);
  __type(value, struct pt_count);
} rule_counts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, PT_MAX_PEERS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, __u32);
  __type(value, struct pt_peer_count);
} peer_counts SEC(".maps");

/* Kept here for the agent alone; the packet path does not read them. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, PT_MAX_PEERS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct pt_peer_name);
  __type(value, __u32);
} peer_ids SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct pt_journal_head);
} journal_head SEC(".maps");

/* Not swapped: what is watched is the agent's business, and what was lost stays lost. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct pt_watch);
} watch SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, PT_SAMPLES_BYTES);
} samples SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct pt_tokens);
} sample_tokens SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, PT_LOSS_COUNT);
  __type(key, __u32);
  __type(value, __u64);
} events_lost SEC(".maps");

/* What the agent should act on, and what it was asked for lately. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, PT_EVENTS_BYTES);
} events SEC(".maps");

struct pt_neighbour {
  __u32 ifindex;
  struct pt_address address;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, PT_NEIGHBOURS_ASKED);
  __type(key, struct pt_neighbour);
  __type(value, __u64);
} neighbours_asked SEC(".maps");

/* What one packet may know of the tables: it asks the selector once and hands this down. */
struct pt_generation {
  __u64 number; /* 0: nothing was adopted yet, and there are no tables */
  __u32 slot;
  const struct pt_gateway* gateway;
};

PT_STAGE struct pt_generation pt_generation_read(void) {
  const __u32 zero = 0;
  struct pt_generation generation = {};
  const volatile __u64* word = bpf_map_lookup_elem(&selector, &zero);
  const __u64 now = word ? *word : 0;
  generation.number = PT_SELECTOR_GENERATION(now);
  generation.slot = PT_SELECTOR_SLOT(now);
  generation.gateway = bpf_map_lookup_elem(&gateway, &generation.slot);
  if (!generation.gateway) generation.number = 0;
  return generation;
}

/* May mesh traffic pass at all? Asked once a packet, of those that are the mesh's. The coarse clock, for this
 * one needs no more than its tick, and only where a deadline stands. */
PT_STAGE bool pt_is_open(const struct pt_generation* generation) {
  const __u32 key = PT_CLOSES(generation->slot);
  if (!generation->gateway->open) return false;
  const volatile __u64* word = bpf_map_lookup_elem(&selector, &key);
  const __u64 closes_ns = word ? *word : 1;
  return !closes_ns || bpf_ktime_get_coarse_ns() < closes_ns;
}

/* The inner map that a slot holds, NULL if it is missing. `slot` must be an lvalue. */
#define pt_inner(map, slot) bpf_map_lookup_elem(&(map), &(slot))

#endif
