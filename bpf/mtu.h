/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The path MTU to each peer (SPEC 1.8). A router of the underlay that cannot pass a tunnel packet on says so
 * by ICMP, and the host's stack, which did not send it, learns nothing from that. So we do: the peer's row is
 * lowered, and packets that are too big for it are answered as if our own link were that narrow.
 *
 * Such a report cannot be authenticated. It must quote a tunnel packet from us to an active peer, it only
 * lowers, once a second and peer, never below the floor, and is forgotten after ten minutes (RFC 1191 6.3).
 */
#ifndef POSTERN_MTU_H
#define POSTERN_MTU_H

#include "incident.h"
#include "packet.h"

#define PT_SECOND_NS 1000000000ull

PT_STAGE bool pt_is_fresh(const struct pt_path_mtu* row, __u32 now_s) {
  return row->mtu && now_s - row->learnt_s < PT_PATH_MTU_FORGET_S;
}

/* The smaller of `mtu` and what was learnt of the path to the peer. */
PT_FUNCTION __u32 pt_within_path_mtu(__u32 peer, __u32 mtu) {
  const struct pt_path_mtu* row = bpf_map_lookup_elem(&path_mtus, &peer);
  if (!row || !row->mtu || row->mtu >= mtu) return mtu;
  if (!pt_is_fresh(row, bpf_ktime_get_coarse_ns() / PT_SECOND_NS)) return mtu;
  pt_tell(path_mtu, row->mtu);
  return row->mtu;
}

PT_FUNCTION int pt_lower_path_mtu(__u32 peer, __u32 mtu) {
  struct pt_path_mtu* row = bpf_map_lookup_elem(&path_mtus, &peer);
  if (!row) return 0;
  const __u32 now_s = bpf_ktime_get_coarse_ns() / PT_SECOND_NS;
  if (mtu < PT_PATH_MTU_FLOOR) mtu = PT_PATH_MTU_FLOOR;
  if (pt_is_fresh(row, now_s) && (row->mtu <= mtu || row->learnt_s == now_s)) {
    pt_note(PT_INCIDENT_PATH_MTU_REFUSED);
    return 0;
  }
  pt_would(LOWER_MTU);
  if (PT_DRY) return 0;
  const struct pt_path_mtu lower = {.mtu = mtu, .learnt_s = now_s};
  *(volatile pt_word64*)row = *(const pt_word64*)&lower;
  pt_note(PT_INCIDENT_PATH_MTU_LOWERED);
  return 0;
}

#endif
