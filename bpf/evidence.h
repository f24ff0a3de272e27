/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the packet path tells of single packets: samples for those who watch, and the trace of one that is
 * explained (SPEC 1.17, 1.18). Part of abi.h, which includes it and says how bytes are ordered.
 */
#ifndef POSTERN_EVIDENCE_H
#define POSTERN_EVIDENCE_H

/* Where on its way a packet was.
 *        number, NAME,  label,    help */
#define PT_STAGES(X)                                                                                  \
  X(0, ARRIVE, "arrive", "the interface, and whether the gateway serves it")                          \
  X(1, PARSE, "parse", "the packet's own headers")                                                    \
  X(2, OURS, "ours", "outside of a tunnel: from or to a mesh address, a guarded port, or the host's") \
  X(3, ADMIT, "admit", "the peer that sent it, and the segments that it may use")                     \
  X(4, INNER, "inner", "the frame inside of the tunnel")                                              \
  X(5, NEIGHBOUR, "neighbour", "ARP and neighbour discovery")                                         \
  X(6, OWN, "own", "whose address the source is")                                                     \
  X(7, POLICY, "policy", "the destination's owner, and a rule that allows it")                        \
  X(8, METER, "meter", "the peer's rate")                                                             \
  X(9, STEER, "steer", "who gets it: the site, a peer, a holder or a backend")                        \
  X(10, ROUTE, "route", "the kernel's way out, and whether this traffic may leave there")             \
  X(11, TUNNEL, "tunnel", "tunnel headers, MTU and congestion marks")                                 \
  X(12, ANSWER, "answer", "what the gateway answers itself")

enum pt_stage {
#define PT_X(number, name, label, help) PT_AT_##name = number,
  PT_STAGES(PT_X)
#undef PT_X
      PT_STAGE_COUNT
};

/* One packet as it was judged: the inner one where tunnel headers were taken off. */
#define PT_SAMPLE_INNER 1   /* source and destination were read */
#define PT_SAMPLE_TUNNEL 2  /* so were tunnel_source and tunnel_destination */
#define PT_SAMPLE_FAMILY4 2 /* as in sockets */
#define PT_SAMPLE_FAMILY6 10
struct pt_sample {
  __u64 boot_ns;
  __u64 generation;
  struct pt_address source;
  struct pt_address destination;
  struct pt_address tunnel_source;
  struct pt_address tunnel_destination;
  __u32 ifindex; /* of arrival */
  __u32 egress;  /* 0: it did not leave, or by the way that it came */
  __u32 vni;
  __u32 sender; /* peer ids, 0: none */
  __u32 receiver;
  __u32 length;   /* of the frame, as it arrived */
  __u32 captured; /* bytes of the frame, as it arrived, that follow */
  __u16 verdict;
  __u16 reason; /* with DROP and REFUSED */
  __u16 source_port;
  __u16 destination_port; /* ICMP: type << 8 | code */
  __u8 family;            /* 0: no IP packet was read */
  __u8 next_header;
  __u8 ttl;
  __u8 tos;
  __u8 flags;
  __u8 pad[7];
};

/* watch[0]: what somebody wants to see; written by the agent while somebody does. */
struct pt_watch {
  __u64 until_ns; /* coarse monotonic: an agent that died watches no longer. 0: nobody does */
  __u64 reasons[2];
  __u32 verdicts; /* bits by number, as reasons */
  __u32 snap;     /* bytes of a frame, at most PT_SNAP_BYTES */
  __u32 ifindex;  /* 0: any; so for the others */
  __u32 vni;
  __u32 peer;     /* sender or receiver */
  __u32 token_ns; /* one sample a CPU in this time; 0: no limit */
  __u64 tokens;   /* that many at once */
};
#define PT_SNAP_BYTES 4096
struct pt_record {
  struct pt_sample sample;
  __u8 frame[PT_SNAP_BYTES];
};
#define PT_SAMPLES_BYTES 4194304

/* events_lost[number], per CPU.
 *        number, NAME,   label,    help */
#define PT_LOSSES(X)                                                                                \
  X(0, REQUESTS, "requests", "requests to the agent, such as for a neighbour: they are made again") \
  X(1, SAMPLES, "samples", "samples and captured frames that found the ring full")                  \
  X(2, RATE, "rate", "samples beyond the rate that was asked for")

enum pt_loss {
#define PT_X(number, name, label, help) PT_LOST_##name = number,
  PT_LOSSES(PT_X)
#undef PT_X
      PT_LOSS_COUNT
};

/* How a rule let a packet go. */
enum pt_permission {
  PT_BY_NONE = 0,
  PT_BY_RULE = 1,
  PT_BY_REPLY = 2,    /* TCP: the rule of the other direction */
  PT_BY_FLOW = 3,     /* the answer to a packet that is remembered */
  PT_BY_FRAGMENT = 4, /* a later fragment */
};

/* What the packet would have done. */
#define PT_WOULD_REMEMBER 1
#define PT_WOULD_ASK_NEIGHBOUR 2
#define PT_WOULD_WAKE 4
#define PT_WOULD_LOWER_MTU 8
#define PT_WOULD_CLAMP 16
#define PT_WOULD_TAKE_TOKENS 32
#define PT_WOULD_DRAIN 64

/* The trace of a packet that is explained (explain.bpf.c). What a stage never reached is 0. */
struct pt_trace {
  struct pt_sample sample;
  struct pt_owner source_owner;
  struct pt_owner destination_owner; /* kind 0: nobody */
  __u64 row_epoch;                   /* of the resource that was asked about last */
  __u64 fence_epoch;
  __u64 deadline_boot_ns;
  struct pt_address backend;
  struct pt_address next_hop;
  __u32 stage;
  __u32 rule;       /* number + 1 */
  __u32 permission; /* enum pt_permission */
  __u32 would;
  __u32 resource; /* number + 1 */
  __u32 holder;   /* peer id, PT_HOLDER_LOCAL, or 0: nobody */
  __u32 service;  /* number + 1 */
  __u32 lookups;  /* of routes */
  __s32 route;    /* what the last one said: BPF_FIB_LKUP_RET_* */
  __u32 route_ifindex;
  __u32 mtu; /* largest packet for the way that was looked up; inner, for a tunnel */
  __u32 path_mtu;
  __u16 from_class;
  __u16 to_class;
  __u8 protocol; /* enum pt_protocol */
  __u8 port_class;
  __u8 quoted; /* the rules were asked about the packet that an ICMP error quotes */
  __u8 pad[1];
};

#endif
