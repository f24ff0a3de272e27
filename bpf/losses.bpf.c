/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Frames that are lost after the packet path has let them go (SPEC 1.10). A redirect is only a wish: the
 * kernel may fail to carry it out, and the driver may have no room. Both are told by tracepoints alone.
 *
 * An object of its own, for nothing here belongs to a generation or outlives the agent. It counts for the
 * interfaces that the agent put into the table, by namespace, since others use XDP as well.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

/* The few fields of the kernel's own types that are read here, wherever this kernel has them. */
#define PT_KERNEL __attribute__((preserve_access_index))
struct ns_common {
  unsigned int inum;
} PT_KERNEL;
struct net {
  struct ns_common ns;
} PT_KERNEL;
typedef struct {
  struct net* net;
} PT_KERNEL possible_net_t;
struct net_device {
  int ifindex;
  possible_net_t nd_net;
} PT_KERNEL;

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, PT_LOSS_INTERFACES);
  __type(key, struct pt_loss_key);
  __type(value, struct pt_losses);
} losses SEC(".maps");

static __always_inline struct pt_losses* pt_losses_of(const struct net_device* device) {
  struct pt_loss_key key = {};
  key.ifindex = BPF_CORE_READ(device, ifindex);
  key.namespace_inode = BPF_CORE_READ(device, nd_net.net, ns.inum);
  return bpf_map_lookup_elem(&losses, &key);
}

/* (device of arrival, program, target, error, map type, map id, index) */
SEC("raw_tp/xdp_redirect_err")
int pt_redirect_failed(struct bpf_raw_tracepoint_args* ctx) {
  struct pt_losses* row = pt_losses_of((const struct net_device*)ctx->args[0]);
  if (row) row->redirect++;
  return 0;
}

/* (device of arrival, device of departure, sent, dropped, error) */
SEC("raw_tp/xdp_devmap_xmit")
int pt_transmit_failed(struct bpf_raw_tracepoint_args* ctx) {
  const int dropped = (int)ctx->args[3];
  if (dropped <= 0) return 0;
  struct pt_losses* row = pt_losses_of((const struct net_device*)ctx->args[1]);
  if (row) row->transmit += dropped;
  return 0;
}

char pt_license[] SEC("license") = "Dual BSD/GPL";
