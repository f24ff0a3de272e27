// SPDX-License-Identifier: Apache-2.0
#include "dataplane/leases.h"

#include <string>

namespace postern::dataplane {
namespace {

std::atomic_ref<__u64> shared(__u64& word) {
  return std::atomic_ref<__u64>(word);
}

// Stores the greater of the two; false when the word held it already.
bool raise(__u64& word, std::uint64_t value) {
  const std::atomic_ref<__u64> kept = shared(word);
  __u64 now = kept.load();
  while (now < value) {
    if (kept.compare_exchange_weak(now, value)) return true;
  }
  return false;
}

// Stores the lesser of the two.
void lower(__u64& word, std::uint64_t value) {
  const std::atomic_ref<__u64> kept = shared(word);
  __u64 now = kept.load();
  while (now > value && !kept.compare_exchange_weak(now, value)) {
  }
}

}  // namespace

Result<Leases> Leases::open(const Plane& plane) {
  Result<MappedArray> fences =
      MappedArray::map(plane.map_fd("fences"), "fences", PT_MAX_RESOURCES * sizeof(pt_fence));
  if (!fences) return pass_on(std::move(fences));
  return Leases(std::move(*fences));
}

Result<pt_fence*> Leases::row(ResourceNumber resource) const {
  if (resource.value < PT_MAX_RESOURCES) return fences_.as<pt_fence>() + resource.value;
  return fail(errc::capacity, "resource number " + std::to_string(resource.value) +
                                  " has no fence: numbers go up to " + std::to_string(PT_MAX_RESOURCES - 1));
}

Result<> Leases::raise_fence(ResourceNumber resource, Epoch epoch) const {
  const Result<pt_fence*> fence = row(resource);
  if (!fence) return fail(fence.error().code, fence.error().context);
  if (shared((*fence)->epoch).load() >= epoch.value) return {};
  shared((*fence)->deadline_boot_ns).store(0);
  raise((*fence)->epoch, epoch.value);
  return {};
}

Result<Epoch> Leases::fence(ResourceNumber resource) const {
  const Result<pt_fence*> fence = row(resource);
  if (!fence) return fail(fence.error().code, fence.error().context);
  return Epoch(shared((*fence)->epoch).load());
}

Result<pt_fence*> Leases::row_under(ResourceNumber resource, Epoch epoch) const {
  Result<pt_fence*> fence = row(resource);
  if (!fence) return fence;
  const __u64 lowest = shared((*fence)->epoch).load();
  if (epoch.value == lowest) return fence;
  return fail(errc::stale, "resource number " + std::to_string(resource.value) + " has its fence at epoch " +
                               std::to_string(lowest) + ", and a lease under epoch " +
                               std::to_string(epoch.value) + " cannot be changed");
}

Result<> Leases::extend(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) const {
  const Result<pt_fence*> fence = row_under(resource, epoch);
  if (!fence) return fail(fence.error().code, fence.error().context);
  raise((*fence)->deadline_boot_ns, deadline_boot_ns);
  return {};
}

Result<> Leases::shorten(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) const {
  const Result<pt_fence*> fence = row_under(resource, epoch);
  if (!fence) return fail(fence.error().code, fence.error().context);
  lower((*fence)->deadline_boot_ns, deadline_boot_ns);
  return {};
}

Result<> Leases::stop(ResourceNumber resource) const {
  const Result<pt_fence*> fence = row(resource);
  if (!fence) return fail(fence.error().code, fence.error().context);
  shared((*fence)->deadline_boot_ns).store(0);
  return {};
}

Result<std::uint64_t> Leases::deadline_boot_ns(ResourceNumber resource) const {
  const Result<pt_fence*> fence = row(resource);
  if (!fence) return fail(fence.error().code, fence.error().context);
  return shared((*fence)->deadline_boot_ns).load();
}

}  // namespace postern::dataplane
