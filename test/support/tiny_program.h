// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <iterator>

#include "core/unique_fd.h"

namespace postern::testing {

// Opcodes whose parts are partly zero: BPF_LD | BPF_DW | BPF_IMM, and BPF_ALU64 | BPF_ADD | BPF_K.
inline constexpr int kLoadImmediate64 = 0x18;
inline constexpr int kAddImmediate = 0x07;

inline bpf_insn insn(int code, int destination, int source, int offset, int immediate) {
  bpf_insn out{};
  out.code = static_cast<__u8>(code);
  out.dst_reg = static_cast<__u8>(destination & 15);
  out.src_reg = static_cast<__u8>(source & 15);
  out.off = static_cast<__s16>(offset);
  out.imm = immediate;
  return out;
}

template <std::size_t N>
UniqueFd load_xdp(const bpf_insn (&program)[N]) {
  return UniqueFd(::bpf_prog_load(BPF_PROG_TYPE_XDP, "tiny", "GPL", program, N, nullptr));
}

// Passes every packet. With a map it looks as if it used it.
inline UniqueFd passing_program(int map_fd = -1) {
  if (map_fd < 0) {
    const bpf_insn alone[] = {insn(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS),
                              insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)};
    return load_xdp(alone);
  }
  const bpf_insn with_map[] = {insn(kLoadImmediate64, 1, BPF_PSEUDO_MAP_FD, 0, map_fd), insn(0, 0, 0, 0, 0),
                               insn(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS),
                               insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)};
  return load_xdp(with_map);
}

inline __u32 id_of_program(int fd) {
  bpf_prog_info info{};
  __u32 size = sizeof info;
  return ::bpf_obj_get_info_by_fd(fd, &info, &size) == 0 ? info.id : 0;
}
inline __u32 id_of_map(int fd) {
  bpf_map_info info{};
  __u32 size = sizeof info;
  return ::bpf_obj_get_info_by_fd(fd, &info, &size) == 0 ? info.id : 0;
}

}  // namespace postern::testing
