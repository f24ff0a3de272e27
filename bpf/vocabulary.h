/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The words that every stage uses: kernel and libbpf headers, byte order, and small idioms the verifier
 * likes.
 *
 * A stage returns 0 to let the packet go on, a positive verdict that ends its way, or a negative drop reason.
 * PT_VERDICT_DROP is 0 and so is never returned: a drop always has its reason.
 */
#ifndef POSTERN_VOCABULARY_H
#define POSTERN_VOCABULARY_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "abi.h"

#define PT_STAGE static __always_inline
/* A function that the verifier looks at once, apart from its callers, who then know nothing of what it found.
 * So it keeps the many ways through it from multiplying with theirs. Its pointers may be NULL for all it
 * knows. */
#define PT_FUNCTION __attribute__((noinline))
/* A function with a stack of its own: all frames of a chain of calls share 512 bytes. */
#define PT_APART static __attribute__((noinline))

/* 1: nothing that outlives the packet is written (explain.bpf.c). */
#ifndef PT_DRY
#define PT_DRY 0
#endif

#define PT_GO_ON 0
#define PT_TRY(stage)                            \
  do {                                           \
    const int pt_ended_ = (stage);               \
    if (pt_ended_ != PT_GO_ON) return pt_ended_; \
  } while (0)

/* The same number, of which the verifier knows nothing: what follows need not be looked at once for each
 * value. */
PT_FUNCTION int pt_unknown(int number) {
  asm volatile("" : "+r"(number));
  return number;
}

/* Addresses are compared and hashed in whole words; the types tell the compiler that these alias anything. */
typedef __u64 __attribute__((may_alias)) pt_word64;
typedef __u32 __attribute__((may_alias)) pt_word32;
typedef __u16 __attribute__((may_alias)) pt_word16;

#define PT_FAMILY_IPV4 2
#define PT_FAMILY_IPV6 10

#define PT_MAPPED_BE bpf_htonl(0x0000ffff) /* third word of a v4-mapped address */

PT_STAGE bool pt_same_address(const struct pt_address* a, const struct pt_address* b) {
  const pt_word64 *x = (const pt_word64*)a->bytes, *y = (const pt_word64*)b->bytes;
  return x[0] == y[0] && x[1] == y[1];
}

PT_STAGE bool pt_no_address(const struct pt_address* a) {
  const pt_word64* x = (const pt_word64*)a->bytes;
  return (x[0] | x[1]) == 0;
}

PT_STAGE bool pt_is_mapped(const struct pt_address* a) {
  const pt_word32* x = (const pt_word32*)a->bytes;
  return (x[0] | x[1]) == 0 && x[2] == PT_MAPPED_BE;
}

PT_STAGE void pt_map_ipv4(struct pt_address* a, __u32 ipv4_be) {
  pt_word32* x = (pt_word32*)a->bytes;
  x[0] = 0;
  x[1] = 0;
  x[2] = PT_MAPPED_BE;
  x[3] = ipv4_be;
}

PT_STAGE __u32 pt_mapped_ipv4(const struct pt_address* a) {
  return ((const pt_word32*)a->bytes)[3];
}

PT_STAGE void pt_copy_mac(void* to, const void* from) {
  __u8* t = to;
  const __u8* f = from;
  for (int i = 0; i < 6; i++)
    t[i] = f[i];
}

PT_STAGE bool pt_same_mac(const void* a, const void* b) {
  const __u8 *x = a, *y = b;
  __u8 difference = 0;
  for (int i = 0; i < 6; i++)
    difference |= x[i] ^ y[i];
  return difference == 0;
}

PT_STAGE bool pt_in_segment(const __u64* segments, __u32 index) {
  const __u32 word = index / 64;
  return word < PT_SEGMENT_WORDS && (segments[word] >> (index % 64) & 1);
}

PT_STAGE __u16 pt_fold(__u64 sum) {
  sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32 & 0xffff) + (sum >> 48);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return (__u16)sum;
}

/* RFC 1624: the checksum after one of the words under it went from `old` to `new`. */
PT_STAGE __u16 pt_checksum_with(__u16 checksum, __u16 old, __u16 new) {
  return (__u16)~pt_fold((__u64)(__u16)~checksum + (__u16)~old + new);
}

#endif
