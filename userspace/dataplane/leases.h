// SPDX-License-Identifier: Apache-2.0
// The unswapped half of a resource's ownership (SPEC 2.5): the lowest epoch that the kernel accepts, and
// until when the one who holds it under that epoch may. They lie in the pinned map that every packet reads,
// so a change is in force with the store, outlives the agent, and is undone by no flip.
#pragma once

#include <atomic>

#include "abi.h"
#include "core/ids.h"
#include "core/result.h"
#include "dataplane/mapped_array.h"
#include "dataplane/plane.h"

namespace postern::dataplane {

class Leases {
 public:
  // Maps what the plane has: after a restart, what the agent before left.
  static Result<Leases> open(const Plane& plane);

  // Raises the resource's fence to at least `epoch`, never lowers it, and touches no other resource. When it
  // rises, the deadline of the epoch before is zeroed first: it was not granted to the new holder.
  Result<> raise_fence(ResourceNumber resource, Epoch epoch) const;
  Result<Epoch> fence(ResourceNumber resource) const;

  // Lets the holder under `epoch` go on until this instant of CLOCK_BOOTTIME, in nanoseconds. Never shortens.
  // Refused (errc::stale) unless `epoch` is the fence.
  Result<> extend(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) const;
  // Lets the holder under `epoch` go on until this instant at most. Never puts off. Refused (errc::stale)
  // unless `epoch` is the fence.
  Result<> shorten(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) const;
  // The holder stops now. The epoch stays: only a higher one can be held after this, or an extension of it.
  Result<> stop(ResourceNumber resource) const;
  Result<std::uint64_t> deadline_boot_ns(ResourceNumber resource) const;

 private:
  explicit Leases(MappedArray fences) : fences_(std::move(fences)) {}
  Result<pt_fence*> row(ResourceNumber resource) const;
  Result<pt_fence*> row_under(ResourceNumber resource, Epoch epoch) const;

  MappedArray fences_;
};

}  // namespace postern::dataplane
