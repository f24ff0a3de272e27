/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which backend a packet to a service goes to (SPEC 1.13). The agent compiled a table of PT_MAGLEV_SIZE
 * places (maglev.h), equal on every gateway; the flow's hash names a place, the place a backend. Nothing is
 * remembered of a flow, so that any gateway may take over any other's. The address is not translated: a
 * backend has the service's address itself and answers from it.
 *
 * While a backend drains there are two tables, with and without it. Where they differ a TCP flow's SYN goes
 * by the new one and leaves an entry in `flows`; a later packet that finds none belongs to an older flow and
 * goes by the old one. Other protocols have no first packet to tell by, and move at once.
 */
#ifndef POSTERN_SERVICE_H
#define POSTERN_SERVICE_H

#include "flow.h"

PT_STAGE __u32 pt_mix(__u32 hash, __u32 word) {
  hash = (hash ^ word) * 0x85ebca6b;
  return hash ^ hash >> 15;
}

/* The same for a packet to the service and for the question that an error about its answer quotes. */
PT_STAGE __u32 pt_client_hash(const struct pt_address* client, __u16 port, __u8 protocol) {
  const pt_word32* words = (const pt_word32*)client->bytes;
  __u32 hash = pt_mix(0x9747b28c, words[0]);
  hash = pt_mix(hash, words[1]);
  hash = pt_mix(hash, words[2]);
  hash = pt_mix(hash, words[3]);
  hash = pt_mix(hash, (__u32)port << 8 | protocol);
  hash = (hash ^ hash >> 13) * 0xc2b2ae35;
  return hash ^ hash >> 16;
}

/* The place's backend for a flow that may be new. */
PT_STAGE int pt_drain(const struct pt_case* about, const struct pt_flow* flow, __u8 older, __u8 fresh,
                      __u8* backend) {
  struct pt_flow_key key __attribute__((aligned(8))) = {
      .source = flow->source,
      .destination = flow->destination,
      .vni = about->vni,
      .source_port = flow->source_port,
      .destination_port = flow->destination_port,
      .protocol = flow->protocol,
  };
  *backend = fresh;
  if (flow->protocol != PT_PROTO_TCP) return PT_GO_ON;
  if (flow->reply) {
    if (!bpf_map_lookup_elem(&flows, &key)) *backend = older;
    return PT_GO_ON;
  }
  pt_would(DRAIN);
  if (PT_DRY) return PT_GO_ON;
  const struct pt_flow_entry entry = {.generation = about->generation, .seen_ns = bpf_ktime_get_coarse_ns()};
  const long error = bpf_map_update_elem(&flows, &key, &entry, BPF_ANY);
  return error ? pt_flow_failure(error) : PT_GO_ON;
}

/* `flow`: as the client sent it, also where an error quotes the answer to it. */
PT_FUNCTION int pt_backend_of(const struct pt_case* about, const struct pt_flow* flow, __u32 number,
                              struct pt_address* address) {
  if (!about || !flow || !address) return -PT_DROP_TABLE_MISSING;
  pt_tell(service, number + 1);
  const __u32 slot = about->slot;
  void* doors = pt_inner(services, slot);
  void* members = pt_inner(backends, slot);
  if (!doors || !members) return -PT_DROP_TABLE_MISSING;
  const struct pt_service* service = bpf_map_lookup_elem(doors, &number);
  if (!service) return -PT_DROP_TABLE_MISSING;
  if (flow->protocol != service->protocol || flow->destination_port != service->port) {
    return -PT_DROP_NO_BACKEND;
  }
  __u32 place = pt_client_hash(&flow->source, flow->source_port, flow->protocol) % PT_MAGLEV_SIZE;
  asm volatile("" : "+r"(place)); /* the verifier does not follow a remainder, and the compiler must not */
  if (place >= PT_MAGLEV_SIZE) return -PT_DROP_TABLE_MISSING;
  __u8 backend = service->flows[place];
  const __u8 fresh = service->fresh[place];
  if (backend != fresh) PT_TRY(pt_drain(about, flow, backend, fresh, &backend));
  if (backend == PT_NO_BACKEND) return -PT_DROP_NO_BACKEND;
  const struct pt_backend_key key = {.service = number, .item = backend};
  const struct pt_backend* row = bpf_map_lookup_elem(members, &key);
  if (!row) return -PT_DROP_TABLE_MISSING;
  *address = row->address;
  pt_tell(backend, row->address);
  return PT_GO_ON;
}

#endif
