/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Things that happen beside a packet's verdict, counted per CPU (SPEC 1.10). */
#ifndef POSTERN_INCIDENT_H
#define POSTERN_INCIDENT_H

#include "tables.h"
#include "trace.h"

PT_STAGE void pt_note(enum pt_incident incident) {
  if (PT_DRY) return;
  const __u32 row = incident;
  __u64* count = bpf_map_lookup_elem(&incidents, &row);
  if (count) ++*count;
}

/* An event or sample that found no room. */
PT_STAGE void pt_lost(enum pt_loss what) {
  const __u32 row = what;
  __u64* count = bpf_map_lookup_elem(&events_lost, &row);
  if (count) ++*count;
}

#endif
