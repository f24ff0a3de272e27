/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Samples of packets with their verdicts, and the frames as they arrived, for those who watch (SPEC 1.18). A
 * packet asks once whether anybody does; everything else happens behind that. What the agent wrote into the
 * watch holds until a time, so that a dead agent's wishes end by themselves.
 */
#ifndef POSTERN_WATCH_H
#define POSTERN_WATCH_H

#include "incident.h"
#include "packet.h"

/* A CPU's record: the frame is put there when it arrives, the rest when its verdict is known. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct pt_record);
} kept SEC(".maps");

PT_STAGE const struct pt_watch* pt_watch_row(void) {
  const __u32 zero = 0;
  return bpf_map_lookup_elem(&watch, &zero);
}

/* Keeps the front of the frame that arrives. */
PT_FUNCTION int pt_keep_frame(struct xdp_md* ctx) {
  const __u32 zero = 0;
  const struct pt_watch* wanted = pt_watch_row();
  struct pt_record* record = bpf_map_lookup_elem(&kept, &zero);
  if (!wanted || !record) return 0;
  __u32 size = pt_length(ctx);
  record->sample.length = size;
  record->sample.captured = 0;
  if (size > wanted->snap) size = wanted->snap;
  /* The verifier of Linux 6.1 learns nothing from "is not 0", so one comparison gives both bounds. */
  __u32 last = size - 1;
  asm volatile("" : "+r"(last));
  if (last >= PT_SNAP_BYTES) return 0;
  size = last + 1;
  if (bpf_xdp_load_bytes(ctx, 0, record->frame, size)) return 0;
  record->sample.captured = size;
  return 0;
}

PT_STAGE void pt_sample_flow(struct pt_sample* sample, const struct pt_flow* flow) {
  sample->source = flow->source;
  sample->destination = flow->destination;
  sample->source_port = flow->source_port;
  sample->destination_port = flow->destination_port;
  sample->family = flow->family;
  sample->next_header = flow->next_header;
  sample->ttl = flow->ttl;
  sample->tos = flow->tos;
}

/* What is known of the packet at its end, but for what was kept of its frame. */
PT_STAGE void pt_fill_sample(const struct pt_work* work, struct pt_sample* sample) {
  const struct pt_exit* exit = &work->exit;
  const int end = exit->end;
  const bool sent = end == PT_VERDICT_DECAPSULATED || end == PT_VERDICT_ENCAPSULATED ||
                    end == PT_VERDICT_RELAYED || end == PT_VERDICT_ROUTED;
  sample->boot_ns = bpf_ktime_get_boot_ns();
  sample->generation = exit->generation;
  sample->ifindex = exit->ifindex;
  sample->vni = exit->vni;
  sample->sender = exit->sender;
  sample->receiver = exit->receiver;
  sample->length = exit->length;
  sample->verdict = end <= 0 ? PT_VERDICT_DROP : end;
  sample->reason = end <= 0 ? -end : end == PT_VERDICT_REFUSED ? exit->refused : 0;
  sample->egress = sent ? work->fib.ifindex : 0;
  pt_sample_flow(sample, exit->inner ? &work->flow : &work->outer);
  sample->flags = sample->family ? PT_SAMPLE_INNER : 0;
  if (!exit->inner || !exit->sender) return;
  sample->flags |= PT_SAMPLE_TUNNEL;
  sample->tunnel_source = work->outer.source;
  sample->tunnel_destination = work->outer.destination;
}

PT_STAGE bool pt_bit(const __u64* words, __u32 bit) {
  return (bit < 64 ? words[0] : words[1]) >> (bit & 63) & 1;
}

/* Does somebody want to see it? */
PT_STAGE bool pt_is_wanted(const struct pt_watch* wanted, const struct pt_sample* sample) {
  if (!(wanted->verdicts >> (sample->verdict & 31) & 1)) return false;
  if (sample->reason && !pt_bit(wanted->reasons, sample->reason)) return false;
  if (wanted->ifindex && wanted->ifindex != sample->ifindex) return false;
  if (wanted->vni && wanted->vni != sample->vni) return false;
  return !wanted->peer || wanted->peer == sample->sender || wanted->peer == sample->receiver;
}

/* One token a sample; they come back at the pace that was asked for. */
PT_STAGE bool pt_may_sample(const struct pt_watch* wanted, __u64 now_ns) {
  const __u32 zero = 0;
  struct pt_tokens* bucket = bpf_map_lookup_elem(&sample_tokens, &zero);
  if (!wanted->token_ns || !bucket) return true;
  const __u64 earned = (now_ns - bucket->filled_ns) / wanted->token_ns;
  if (earned) {
    bucket->tokens = earned + bucket->tokens < wanted->tokens ? earned + bucket->tokens : wanted->tokens;
    bucket->filled_ns = now_ns;
  }
  if (!bucket->tokens) return false;
  bucket->tokens--;
  return true;
}

/* Sends what is known of the packet to those who watch. */
PT_FUNCTION int pt_send_sample(const struct pt_work* work) {
  const __u32 zero = 0;
  const struct pt_watch* wanted = pt_watch_row();
  struct pt_record* record = bpf_map_lookup_elem(&kept, &zero);
  if (!work || !wanted || !record) return 0;
  struct pt_sample* sample = &record->sample;
  /* What was kept may be an older packet's, where somebody began or ended to watch in between. */
  __u32 size = wanted->snap && sample->length == work->exit.length ? sample->captured : 0;
  if (size > PT_SNAP_BYTES) return 0;
  sample->captured = size;
  pt_fill_sample(work, sample);
  if (!pt_is_wanted(wanted, sample)) return 0;
  const __u64 now_ns = bpf_ktime_get_coarse_ns();
  if (now_ns > wanted->until_ns) return 0;
  if (!pt_may_sample(wanted, now_ns)) {
    pt_lost(PT_LOST_RATE);
    return 0;
  }
  if (bpf_ringbuf_output(&samples, record, sizeof(*sample) + size, 0) != 0) pt_lost(PT_LOST_SAMPLES);
  return 0;
}

/* At the packet's start, while its frame is as it arrived. */
PT_STAGE void pt_watch_begin(struct pt_packet* packet) {
  const struct pt_watch* wanted = pt_watch_row();
  if (PT_DRY || !wanted) return;
  packet->watched_ns = wanted->until_ns;
  if (wanted->snap) pt_keep_frame(packet->ctx);
}

/* At its end. */
PT_STAGE void pt_watch_end(const struct pt_packet* packet, int end) {
  struct pt_work* work = packet->work;
  if (!work || !(PT_DRY || packet->watched_ns)) return;
  work->exit.generation = packet->generation.number;
  work->exit.length = packet->length;
  work->exit.vni = packet->vni;
  work->exit.sender = packet->sender;
  work->exit.receiver = packet->receiver;
  work->exit.refused = packet->refused;
  work->exit.end = end;
  work->exit.ifindex = packet->device;
  work->exit.inner = packet->inner;
#if PT_DRY
  pt_fill_sample(work, &pt_trace.sample);
#else
  pt_send_sample(work);
#endif
}

#endif
