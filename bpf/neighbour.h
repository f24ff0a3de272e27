/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Inner ARP and neighbour discovery (SPEC 1.9): the gateway answers for its own address of the segment, so
 * that a stock VXLAN peer needs one route and no static neighbours. The question is turned round in place and
 * goes back through the tunnel. Everything else is refused: gratuitous announcements, probes, questions for
 * other addresses, and questions whose sender's address or MAC is not the sender's.
 */
#ifndef POSTERN_NEIGHBOUR_H
#define POSTERN_NEIGHBOUR_H

#include "answer.h"
#include "own.h"

/* RFC 826 for Ethernet and IPv4. */
struct pt_arp {
  __u16 hardware_be;
  __u16 protocol_be;
  __u8 hardware_length;
  __u8 protocol_length;
  __u16 operation_be;
  __u16 sender_mac[3];
  __u16 sender_ip[2];
  __u16 target_mac[3];
  __u16 target_ip[2];
};

/* RFC 4861 4.3 and 4.4 with one link-layer address option. */
struct pt_discovery {
  __u8 type;
  __u8 code;
  __u16 checksum;
  __u32 flags_be;
  __u32 target_be[4];
  __u8 option;
  __u8 option_length; /* in eights of bytes */
  __u16 mac[3];
};
#define PT_ND_SOLICITATION 135
#define PT_ND_ADVERTISEMENT 136
#define PT_ND_SOURCE_MAC 1
#define PT_ND_TARGET_MAC 2
#define PT_ND_ROUTER_SOLICITED_OVERRIDE 0xe0000000u

PT_STAGE int pt_answer_arp(struct pt_packet* packet, const struct pt_segment* segment) {
  struct pt_ethernet* ethernet = PT_HEADER(packet->ctx, 0, struct pt_ethernet);
  struct pt_arp* arp = PT_HEADER(packet->ctx, sizeof(*ethernet), struct pt_arp);
  if (!ethernet || !arp) return -PT_DROP_MALFORMED;
  if (arp->hardware_be != bpf_htons(1) || arp->protocol_be != bpf_htons(PT_ETHERTYPE_IPV4) ||
      arp->hardware_length != 6 || arp->protocol_length != 4 || arp->operation_be != bpf_htons(1)) {
    return -PT_DROP_NEIGHBOUR_REFUSED;
  }
  if (!pt_same_mac(arp->sender_mac, ethernet->source)) return -PT_DROP_NEIGHBOUR_REFUSED;

  struct pt_address asker __attribute__((aligned(8))), wanted __attribute__((aligned(8)));
  pt_map_ipv4(&asker, *(pt_word32*)arp->sender_ip);
  pt_map_ipv4(&wanted, *(pt_word32*)arp->target_ip);
  if (!pt_same_address(&wanted, &segment->gateway4)) return -PT_DROP_NEIGHBOUR_REFUSED;
  const struct pt_owner* owner;
  PT_TRY(pt_owner_of(packet, packet->vni, PT_FAMILY_IPV4, &asker, &owner));
  if (pt_is_link_local(PT_FAMILY_IPV4, &asker) || pt_own_peer(packet, owner))
    return -PT_DROP_NEIGHBOUR_REFUSED;

  const __u8* us = packet->generation.gateway->mac;
  arp->operation_be = bpf_htons(2);
  pt_copy_mac(arp->target_mac, arp->sender_mac);
  *(pt_word32*)arp->target_ip = pt_mapped_ipv4(&asker);
  pt_copy_mac(arp->sender_mac, us);
  *(pt_word32*)arp->sender_ip = pt_mapped_ipv4(&wanted);
  pt_copy_mac(ethernet->destination, arp->target_mac);
  pt_copy_mac(ethernet->source, us);
  return PT_ANSWER;
}

/* A question that is well-formed, for our address, from one who may ask. A link-local source needs no owner:
 * the tunnel already says who asks, and the answer goes nowhere else. */
PT_STAGE int pt_check_solicitation(const struct pt_packet* packet, const struct pt_segment* segment,
                                   const struct pt_flow* flow, const struct pt_ethernet* ethernet,
                                   const struct pt_discovery* question) {
  if (question->type != PT_ND_SOLICITATION || question->code != 0 || flow->ttl != 255 ||
      flow->payload_length < sizeof(*question)) {
    return -PT_DROP_NEIGHBOUR_REFUSED;
  }
  if (question->option != PT_ND_SOURCE_MAC || question->option_length != 1 ||
      !pt_same_mac(question->mac, ethernet->source)) {
    return -PT_DROP_NEIGHBOUR_REFUSED;
  }
  struct pt_address wanted __attribute__((aligned(8)));
  __builtin_memcpy(&wanted, question->target_be, sizeof(wanted));
  if (pt_no_address(&wanted) || !pt_same_address(&wanted, &segment->gateway6))
    return -PT_DROP_NEIGHBOUR_REFUSED;
  if (pt_is_multicast(PT_FAMILY_IPV6, &flow->source)) return -PT_DROP_NEIGHBOUR_REFUSED;
  if (pt_is_link_local(PT_FAMILY_IPV6, &flow->source)) {
    return flow->source.bytes[0] == 0xfe ? PT_GO_ON : -PT_DROP_NEIGHBOUR_REFUSED;
  }
  const struct pt_owner* owner;
  PT_TRY(pt_owner_of(packet, packet->vni, PT_FAMILY_IPV6, &flow->source, &owner));
  return pt_own_peer(packet, owner) ? -PT_DROP_NEIGHBOUR_REFUSED : PT_GO_ON;
}

PT_STAGE int pt_answer_solicitation(struct pt_packet* packet, const struct pt_segment* segment,
                                    const struct pt_flow* flow) {
  const int length = sizeof(struct pt_ethernet) + sizeof(struct pt_ipv6) + sizeof(struct pt_discovery);
  struct pt_ethernet* ethernet = pt_bytes(packet->ctx, 0, length);
  if (!ethernet || flow->options) return -PT_DROP_NEIGHBOUR_REFUSED;
  struct pt_ipv6* ip = (void*)(ethernet + 1);
  struct pt_discovery* message = (void*)(ip + 1);
  PT_TRY(pt_check_solicitation(packet, segment, flow, ethernet, message));

  const __u8* us = packet->generation.gateway->mac;
  message->type = PT_ND_ADVERTISEMENT;
  message->checksum = 0;
  message->flags_be = bpf_htonl(PT_ND_ROUTER_SOLICITED_OVERRIDE);
  message->option = PT_ND_TARGET_MAC;
  pt_copy_mac(message->mac, us);
  ip->version_class_flow_be = bpf_htonl(6u << 28);
  ip->payload_length_be = bpf_htons(sizeof(*message));
  __builtin_memcpy(ip->destination_be, &flow->source, sizeof(ip->destination_be));
  __builtin_memcpy(ip->source_be, message->target_be, sizeof(ip->source_be));
  pt_copy_mac(ethernet->destination, ethernet->source);
  pt_copy_mac(ethernet->source, us);
  __s64 sum = bpf_csum_diff(NULL, 0, ip->source_be, 32, bpf_htonl(sizeof(*message) + PT_IP_ICMPV6));
  sum = bpf_csum_diff(NULL, 0, (__be32*)message, sizeof(*message), (__u32)sum);
  message->checksum = ~pt_fold((__u32)sum);
  /* Further options of the question have no place in the answer. */
  if (bpf_xdp_adjust_tail(packet->ctx, length - (int)pt_length(packet->ctx)))
    return -PT_DROP_NEIGHBOUR_REFUSED;
  return PT_ANSWER;
}

#endif
