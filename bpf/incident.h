/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Things that happen beside a packet's verdict, counted per CPU (SPEC 1.10). */
#ifndef POSTERN_INCIDENT_H
#define POSTERN_INCIDENT_H

#include "tables.h"

PT_STAGE void pt_note(enum pt_incident incident) {
  const __u32 row = incident;
  __u64* count = bpf_map_lookup_elem(&incidents, &row);
  if (count) ++*count;
}

#endif
