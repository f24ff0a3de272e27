/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The packet's story (SPEC 1). Two entry points, one for each side of the gateway:
 *
 *   pt_underlay   parse outer - ours? - admit - strip - parse inner - own - policy - steer
 *   pt_local      parse - own - the host's? - policy - steer
 *
 * Both end in pt_account, which counts the packet under exactly one verdict. The selector is read once, in
 * pt_begin; everything behind it sees one generation.
 */
#include "account.h"
#include "admit.h"
#include "echo.h"
#include "ecn.h"
#include "guard.h"
#include "icmp.h"
#include "meter.h"
#include "neighbour.h"
#include "own.h"
#include "policy.h"
#include "quote.h"
#include "steer.h"
#include "transport.h"
#include "tunnel.h"
#include "underlay_error.h"
#include "vlan.h"

PT_STAGE struct pt_packet pt_begin(struct xdp_md* ctx) {
  const __u32 zero = 0;
  struct pt_packet packet = {
      .ctx = ctx,
      .work = bpf_map_lookup_elem(&work, &zero),
      .generation = pt_generation_read(),
      .length = pt_length(ctx),
      .port_slot = PT_PORT_SLOT_UNKNOWN,
      .device = ctx->ingress_ifindex,
  };
  pt_watch_begin(&packet);
  return packet;
}

/* Is the frame addressed to the port's own MAC? */
PT_FUNCTION int pt_is_for_port(struct xdp_md* ctx, const struct pt_port* port) {
  const struct pt_ethernet* ethernet = PT_HEADER(ctx, 0, struct pt_ethernet);
  return ethernet && port && pt_same_mac(ethernet->destination, port->mac);
}

/* The port that it came in by. Frames of a port that the generation does not know in this role are dropped,
 * and counted under PT_PORT_SLOT_UNKNOWN. */
PT_STAGE int pt_arrive(struct pt_packet* packet, __u8 role) {
  const __u32 slot = packet->generation.slot;
  const struct pt_port_key key = {.ifindex = packet->ctx->ingress_ifindex,
                                  .vlan = packet->arrived_tag & PT_VLAN_ID};
  void* known = pt_inner(ports, slot);
  if (!known) return -PT_DROP_TABLE_MISSING;
  const struct pt_port* port = bpf_map_lookup_elem(known, &key);
  if (!port) return key.vlan ? -PT_DROP_VLAN_TAG : -PT_DROP_PORT_UNKNOWN;
  if (port->role == PT_ROLE_CARRIER) return -PT_DROP_VLAN_MISSING;
  if (port->role != role) return -PT_DROP_PORT_UNKNOWN;
  packet->port_slot = port->slot;
  packet->vni = port->vni;
  packet->port_mtu = port->mtu;
  packet->device = port->device;
  packet->carrier = port->carrier;
  packet->for_port = pt_is_for_port(packet->ctx, port);
  packet->from_host = port->flags & PT_PORT_HOST;
  return PT_GO_ON;
}

/* What could not be sent on is for the host's stack to send, or its sender is told. */
PT_STAGE int pt_finish(struct pt_packet* packet, const struct pt_flow* flow, int end) {
  end = pt_unknown(end);
  end = pt_unknown(pt_hand_over(packet, flow, end));
  return pt_complain(packet, packet->segment, flow, end);
}

/* The frame at the packet's start came out of an admitted peer's tunnel. */
PT_STAGE int pt_judge_inner(struct pt_packet* packet, const struct pt_segment* segment) {
  struct pt_link* link = pt_clean(packet->work->link);
  struct pt_flow* flow = pt_clean(packet->work->flow);
  const struct pt_owner *source, *destination;
  packet->inner = true;
  pt_at(INNER);
  PT_TRY(pt_parse_link(packet->ctx, link));
  PT_TRY(pt_admit_frame(packet->ctx, packet->generation.gateway, link));
  if (link->type == PT_ETHERTYPE_ARP) {
    pt_at(NEIGHBOUR);
    return pt_answer_arp(packet, segment);
  }

  PT_TRY(pt_parse_ip(packet->ctx, link->type, sizeof(struct pt_ethernet), flow));
  const int transport = pt_parse_transport(packet->ctx, flow);
  if (transport == PT_GO_ON && flow->neighbour && (!link->group || link->multicast6)) {
    pt_at(NEIGHBOUR);
    return pt_answer_solicitation(packet, segment, flow);
  }
  PT_TRY(pt_admit_addresses(link, flow));
  PT_TRY(pt_without_ports(flow, transport));

  pt_at(OWN);
  PT_TRY(pt_owner_of(packet, packet->vni, flow->family, &flow->source, &source));
  pt_tell_owner(source_owner, source);
  if (!flow->error) PT_TRY(pt_own_peer(packet, source));
  if (!flow->error) PT_TRY(pt_own_door(packet, flow, source));
  if (!source || source->kind != PT_OWNER_RESOURCE) packet->fenced = false; /* it spoke of nothing */
  pt_at(POLICY);
  PT_TRY(pt_owner_of(packet, packet->vni, flow->family, &flow->destination, &destination));
  pt_tell_owner(destination_owner, destination);
  PT_TRY(pt_permit(packet, flow, source, destination));
  pt_at(METER);
  PT_TRY(pt_meter_sender(packet));
  pt_at(TUNNEL);
  PT_TRY(pt_merge_ecn(packet->ctx, flow, packet->outer_tos));
  if (pt_is_segment_address(segment, &flow->destination)) {
    pt_at(ANSWER);
    const int answer = pt_answer_echo(packet, flow);
    return answer == -PT_DROP_NO_FIB_ROUTE && pt_can_hand(packet) ? pt_hand(packet) : answer;
  }
  return pt_finish(packet, flow, pt_steer(packet, segment, flow, destination));
}

/* Before the first adoption no address is known to be ours, so the tunnel's port alone is closed. */
PT_STAGE int pt_judge_unadopted(const struct pt_packet* packet, const struct pt_flow* outer) {
  if (outer->fragment || outer->next_header != PT_IP_UDP) return PT_VERDICT_PASS;
  const bool ours = pt_is_to_port(packet->ctx, outer, bpf_htons(PT_VXLAN_PORT)) ||
                    pt_is_to_port(packet->ctx, outer, bpf_htons(PT_GENEVE_PORT));
  return ours ? -PT_DROP_CLOSED : PT_VERDICT_PASS;
}

PT_STAGE int pt_judge_underlay(struct pt_packet* packet) {
  if (!packet->work) return -PT_DROP_TABLE_MISSING;
  struct pt_link* link = pt_clean(packet->work->link);
  struct pt_flow* outer = pt_clean(packet->work->outer);
  struct pt_tunnel* tunnel = pt_clean(packet->work->tunnel);
  const struct pt_segment* segment;
  if (packet->generation.number) PT_TRY(pt_arrive(packet, PT_ROLE_UNDERLAY));
  pt_at(PARSE);
  PT_TRY(pt_parse_link(packet->ctx, link));
  if (!pt_is_ip(link->type)) return PT_VERDICT_PASS;
  PT_TRY(pt_parse_ip(packet->ctx, link->type, link->offset, outer));
  pt_at(OURS);
  if (!packet->generation.number) return pt_judge_unadopted(packet, outer);
  if (!pt_for_tunnel(packet, outer)) {
    PT_TRY(pt_heed_error(packet, outer));
    PT_TRY(pt_untunnelled(packet, outer));
    return pt_guard(packet, link, outer);
  }

  pt_at(ADMIT);
  PT_TRY(pt_tunnel_read(packet, link, outer, tunnel));
  PT_TRY(pt_admit(packet, outer, tunnel, &segment));
  packet->segment = segment;
  packet->outer_tos = outer->tos;
  packet->tunnel_mtu =
      pt_within_path_mtu(packet->sender, packet->port_mtu) - pt_overhead(outer->family == PT_FAMILY_IPV6);
  PT_TRY(pt_tunnel_strip(packet, tunnel));
  return pt_judge_inner(packet, segment);
}

/* What the host's own stack should see of a segment's traffic. The source is not someone else's by now. */
PT_STAGE bool pt_is_hosts(const struct pt_packet* packet, const struct pt_segment* segment,
                          const struct pt_link* link, const struct pt_flow* flow,
                          const struct pt_owner* source, const struct pt_owner* destination) {
  const struct pt_address* to = &flow->destination;
  if (link->group || pt_is_multicast(flow->family, to) || pt_is_link_local(flow->family, to)) return true;
  if (pt_is_own_address(packet, segment, to)) return true;
  if (!pt_is_owned(source) && !pt_is_owned(destination)) return true;
  const bool site = !pt_is_owned(destination) || destination->kind == PT_OWNER_LOCAL;
  if (flow->neighbour && site) return true;
  return pt_is_owned(source) && pt_is_owned(destination) && site && pt_is_for_host(packet, flow);
}

PT_STAGE int pt_judge_local(struct pt_packet* packet) {
  if (!packet->work) return -PT_DROP_TABLE_MISSING;
  struct pt_link* link = pt_clean(packet->work->link);
  struct pt_flow* flow = pt_clean(packet->work->flow);
  const struct pt_owner *source, *destination;
  const __u32 slot = packet->generation.slot;
  packet->inner = true;
  if (!packet->generation.number) return PT_VERDICT_PASS;
  packet->arrived_tag = pt_take_tag_off(packet->ctx);
  PT_TRY(pt_arrive(packet, PT_ROLE_LOCAL));
  pt_at(PARSE);
  PT_TRY(pt_parse_link(packet->ctx, link));
  if (link->tags) return -PT_DROP_VLAN_TAG;
  if (!pt_is_ip(link->type)) return PT_VERDICT_PASS;
  PT_TRY(pt_parse_ip(packet->ctx, link->type, sizeof(struct pt_ethernet), flow));
  const int transport = pt_parse_transport(packet->ctx, flow);

  pt_at(OWN);
  PT_TRY(pt_owner_of(packet, packet->vni, flow->family, &flow->source, &source));
  pt_tell_owner(source_owner, source);
  PT_TRY(pt_own_site(packet, source));
  /* Flooded by a switch: another gateway's, or another host's. The host's stack leaves it alone. */
  if (!link->group && !packet->for_port) return PT_VERDICT_PASS;
  PT_TRY(pt_owner_of(packet, packet->vni, flow->family, &flow->destination, &destination));
  pt_tell_owner(destination_owner, destination);
  void* domains = pt_inner(segments, slot);
  if (!domains) return -PT_DROP_TABLE_MISSING;
  const struct pt_segment* segment = bpf_map_lookup_elem(domains, &packet->vni);
  packet->segment = segment;
  if (pt_is_hosts(packet, segment, link, flow, source, destination)) return PT_VERDICT_PASS;

  if (!pt_is_open(&packet->generation)) return -PT_DROP_CLOSED;
  if (!pt_is_owned(source) && !flow->error) return -PT_DROP_SOURCE_DENIED;
  pt_at(POLICY);
  /* The kernel cuts what was judged whole before, or by its first piece. */
  if (flow->fragment != PT_FRAGMENT_LATER || !packet->from_host || !source || !destination) {
    PT_TRY(pt_without_ports(flow, transport));
    if (flow->neighbour) return -PT_DROP_NEIGHBOUR_REFUSED;
    if (!flow->error) PT_TRY(pt_own_door(packet, flow, source));
    PT_TRY(pt_permit(packet, flow, source, destination));
  }
  return pt_finish(packet, flow, pt_steer(packet, segment, flow, destination));
}

SEC("xdp.frags")
int pt_underlay(struct xdp_md* ctx) {
  struct pt_packet packet = pt_begin(ctx);
  return pt_account(&packet, pt_retag(&packet, pt_answer(&packet, pt_judge_underlay(&packet))));
}

SEC("xdp.frags")
int pt_local(struct xdp_md* ctx) {
  struct pt_packet packet = pt_begin(ctx);
  return pt_account(&packet, pt_retag(&packet, pt_answer(&packet, pt_judge_local(&packet))));
}

char pt_license[] SEC("license") = "Dual BSD/GPL";
