// SPDX-License-Identifier: Apache-2.0
#include "dataplane/grace_period.h"

#include <bpf/bpf.h>

#include <cerrno>

#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"

namespace postern::dataplane {

Result<GracePeriod> GracePeriod::create() {
  UniqueFd inner(
      ::bpf_map_create(BPF_MAP_TYPE_ARRAY, "pt_barrier_in", sizeof(__u32), sizeof(__u32), 1, nullptr));
  if (!inner) return kernel_error(errc::map, "cannot make the barrier's inner map", errno);
  LIBBPF_OPTS(bpf_map_create_opts, options);
  options.inner_map_fd = static_cast<__u32>(inner.get());
  UniqueFd outer(
      ::bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "pt_barrier", sizeof(__u32), sizeof(__u32), 1, &options));
  if (!outer) return kernel_error(errc::map, "cannot make the barrier's outer map", errno);
  return GracePeriod(std::move(outer), std::move(inner));
}

Result<> GracePeriod::wait() const {
  const __u32 slot = 0;
  const int fd = inner_.get();
  if (::bpf_map_update_elem(outer_.get(), &slot, &fd, BPF_ANY) == 0) return {};
  return kernel_error(errc::map, "cannot wait for packets under way", errno);
}

}  // namespace postern::dataplane
