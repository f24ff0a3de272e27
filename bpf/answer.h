/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frames that the gateway made out of the one that arrived, on their way back: answers to questions, and ICMP
 * errors. */
#ifndef POSTERN_ANSWER_H
#define POSTERN_ANSWER_H

#include "envelope.h"

/* What a stage returns that has turned the frame at the packet's start into an answer. No verdict: pt_answer
 * makes it one. */
#define PT_ANSWER PT_VERDICT_COUNT

/* Through the tunnel of the peer that it came from. */
PT_STAGE int pt_answer_peer(struct pt_packet* packet, int verdict) {
  const __u32 slot = packet->generation.slot;
  void* known = pt_inner(endpoints, slot);
  if (!known) return -PT_DROP_TABLE_MISSING;
  const struct pt_endpoint* endpoint = bpf_map_lookup_elem(known, &packet->sender);
  if (!endpoint) return -PT_DROP_NO_ROUTE;
  packet->fenced = false; /* we speak for ourselves */
  const __u16 source_port = PT_DYNAMIC_PORTS | (packet->sender & (65535 - PT_DYNAMIC_PORTS));
  struct bpf_fib_lookup* fib = pt_clean(packet->work->fib);
  PT_TRY(pt_tunnel_route(packet, packet->sender, endpoint, packet->answer_tos, source_port, fib));
  packet->receiver = packet->sender;
  return pt_tunnel_send(packet, endpoint, NULL, packet->answer_tos, source_port, fib, verdict);
}

/* The end of a packet's way, whatever its stages made of it. An ICMP error that cannot be sent leaves the
 * reason that it was about. */
PT_STAGE int pt_answer(struct pt_packet* packet, int end) {
  end = pt_unknown(end);
  if (end != PT_ANSWER) return end;
  const int verdict = packet->refused ? PT_VERDICT_REFUSED : PT_VERDICT_REPLIED;
  packet->leaving_tag = packet->arrived_tag;
  const int sent =
      packet->sender ? pt_answer_peer(packet, verdict) : pt_leave_by(egress_local, packet->carrier, verdict);
  if (!packet->refused) return sent;
  if (sent != verdict) return -(int)packet->refused;
  pt_note(PT_INCIDENT_ICMP_SENT);
  return sent;
}

#endif
