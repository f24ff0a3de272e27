// SPDX-License-Identifier: Apache-2.0
#include "dataplane/meter_rows.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dataplane/kernel_error.h"
#include "dataplane/update_row.h"

namespace postern::dataplane {
namespace {

Result<> make(int map_fd, const char* table, __u32 key, const void* value) {
  if (update_row(map_fd, &key, value, BPF_NOEXIST) == 0 || errno == EEXIST) return {};
  return kernel_error(errc::map, "cannot make row " + std::to_string(key) + " of table " + table, errno);
}

}  // namespace

Result<> make_meter_rows(const Plane& plane, const Tables& tables) {
  const int cpus = ::libbpf_num_possible_cpus();
  if (cpus <= 0) return kernel_error(errc::map, "cannot count this machine's CPUs", -cpus);
  const std::vector<pt_credit> no_credit(static_cast<std::size_t>(cpus));
  // Paid up to long before the machine started: the first burst is there at once.
  constexpr auto kLongAgo = static_cast<__u64>(std::numeric_limits<std::int64_t>::min() / 2);
  const pt_bucket full{kLongAgo, kLongAgo};
  for (const auto& [peer, rate] : tables.rates) {
    for (const pt_direction direction : {PT_FROM_PEER, PT_TO_PEER}) {
      const __u32 key = PT_BUCKET_KEY(peer, static_cast<__u32>(direction));
      if (Result<> made = make(plane.map_fd("buckets"), "buckets", key, &full); !made) return made;
      if (Result<> made = make(plane.map_fd("credits"), "credits", key, no_credit.data()); !made) return made;
    }
  }
  return {};
}

}  // namespace postern::dataplane
