// SPDX-License-Identifier: Apache-2.0
#include "dataplane/rule_bank.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "dataplane/kernel_error.h"

namespace postern::dataplane {
namespace {

Result<std::size_t> possible_cpus() {
  const int cpus = ::libbpf_num_possible_cpus();
  if (cpus > 0) return static_cast<std::size_t>(cpus);
  return kernel_error(errc::map, "cannot count this machine's CPUs", -cpus);
}

}  // namespace

Result<> clear_rule_bank(const Plane& plane, std::uint8_t bank, const Tables& tables) {
  const Result<std::size_t> cpus = possible_cpus();
  if (!cpus) return fail(cpus.error().code, cpus.error().context);
  const std::vector<pt_count> zeros(*cpus);
  __u32 counted = 0;
  for (const auto& [key, rule] : tables.policy)
    counted = std::max(counted, std::min<__u32>(rule.rule + 1, PT_MAX_RULE_COUNTS));
  const int map_fd = plane.map_fd("rule_counts");
  for (__u32 rule = 0; rule < counted; ++rule) {
    const __u32 row = bank * __u32{PT_MAX_RULE_COUNTS} + rule;
    if (::bpf_map_update_elem(map_fd, &row, zeros.data(), BPF_ANY) == 0) continue;
    return kernel_error(errc::map, "cannot clear row " + std::to_string(row) + " of table rule_counts",
                        errno);
  }
  return {};
}

Result<std::vector<pt_count>> read_rule_bank(const Plane& plane, std::uint8_t bank, std::size_t rules) {
  const Result<std::size_t> cpus = possible_cpus();
  if (!cpus) return fail(cpus.error().code, cpus.error().context);
  std::vector<pt_count> parts(*cpus);
  std::vector<pt_count> out(std::min<std::size_t>(rules, PT_MAX_RULE_COUNTS));
  const int map_fd = plane.map_fd("rule_counts");
  for (std::size_t rule = 0; rule < out.size(); ++rule) {
    const __u32 row = static_cast<__u32>(bank * std::size_t{PT_MAX_RULE_COUNTS} + rule);
    if (::bpf_map_lookup_elem(map_fd, &row, parts.data()) != 0) {
      return kernel_error(errc::map, "cannot read row " + std::to_string(row) + " of table rule_counts",
                          errno);
    }
    for (const pt_count& part : parts) {
      out[rule].packets += part.packets;
      out[rule].bytes += part.bytes;
    }
  }
  return out;
}

}  // namespace postern::dataplane
