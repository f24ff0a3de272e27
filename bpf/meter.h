/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Token buckets per peer and direction, of bytes and of packets (SPEC 1.12).
 *
 * A bucket is one 64-bit word: the time up to which what was taken is paid for. Taking an amount moves it on
 * by the time in which the rate allows that amount; it may not pass the present, and lags behind it by the
 * burst at most. So any number of CPUs share it with one compare-and-swap, and none of them ever adds tokens.
 * To meet seldom, a CPU takes a chunk and lives on that credit; only then is a clock read. What CPUs hold
 * unused is paid for already: together they can exceed the burst by a chunk each, and the rate by nothing.
 */
#ifndef POSTERN_METER_H
#define POSTERN_METER_H

#include "packet.h"
#include "trace.h"

#define PT_METER_TRIES \
  8 /* races lost in a row; then the packet is refused, which is what a full CPU deserves */

/* Takes `amount` from this CPU's credit, which is topped up from the bucket where it does not do. */
PT_STAGE bool pt_take(__u64* credit, __u64* bucket, const struct pt_allowance* allowance, __u64 amount) {
  if (!allowance->chunk_ns || !allowance->chunk) return true;
  const __u64 held = *credit;
  if (held >= amount) {
    if (PT_DRY) return true;
    *credit = held - amount;
    return true;
  }
  const __u64 chunks = (amount - held + allowance->chunk - 1) / allowance->chunk;
  const __s64 now = bpf_ktime_get_coarse_ns(), start = now - (__s64)allowance->burst_ns;
  for (int i = 0; i < PT_METER_TRIES; i++) {
    const __s64 paid = *(volatile __u64*)bucket;
    const __s64 after = (paid > start ? paid : start) + (__s64)(chunks * allowance->chunk_ns);
    if (after > now) return false;
    if (PT_DRY) return true;
    if (__sync_val_compare_and_swap(bucket, (__u64)paid, (__u64)after) != (__u64)paid) continue;
    *credit = held + chunks * allowance->chunk - amount;
    return true;
  }
  return false;
}

PT_FUNCTION int pt_meter(__u32 slot, __u32 peer, enum pt_direction direction, __u32 bytes) {
  const __u32 key = PT_BUCKET_KEY(peer, direction);
  void* signed_rates = pt_inner(rates, slot);
  if (!signed_rates) return -PT_DROP_TABLE_MISSING;
  const struct pt_rate* rate = bpf_map_lookup_elem(signed_rates, &peer);
  struct pt_bucket* bucket = bpf_map_lookup_elem(&buckets, &key);
  struct pt_credit* credit = bpf_map_lookup_elem(&credits, &key);
  if (!rate || !bucket || !credit) return -PT_DROP_TABLE_MISSING;
  pt_would(TAKE_TOKENS);
  if (!pt_take(&credit->packets, &bucket->packets_ns, &rate->packets, 1)) return -PT_DROP_RATE_EXCEEDED;
  if (pt_take(&credit->bytes, &bucket->bytes_ns, &rate->bytes, bytes)) return PT_GO_ON;
  if (!PT_DRY && rate->packets.chunk_ns) credit->packets++; /* it did not go */
  return -PT_DROP_RATE_EXCEEDED;
}

PT_STAGE int pt_meter_sender(const struct pt_packet* packet) {
  if (!(packet->sender_flags & PT_PEER_METERED)) return PT_GO_ON;
  return pt_meter(packet->generation.slot, packet->sender, PT_FROM_PEER, packet->length);
}

#endif
