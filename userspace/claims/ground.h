// SPDX-License-Identifier: Apache-2.0
// What claims stand on: disk, kernel and links, as the gateway has them. A simulation has its own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/stream.h"
#include "wire/sign.h"

namespace postern::claims {

// Who holds a resource, and under which epoch.
struct Holder {
  wire::PublicKey node;
  Epoch epoch;
  friend bool operator==(const Holder&, const Holder&) = default;
};

// A resource's row of what is not swapped (SPEC 2.5).
struct Lease {
  Epoch fence;
  std::uint64_t deadline_boot_ns = 0;
};

class Ground {
 public:
  virtual ~Ground() = default;

  // ---- disk

  // Durable on return, and counted by the fold. What is written has a lamport of at least `lowest`.
  virtual Result<> write(std::span<const ledger::Draft> drafts, Lamport lowest) = 0;
  // The journal accepts nothing any more.
  virtual bool is_poisoned() const = 0;
  // This gateway may have forgotten what it promised: "" or why. Ended by forgot_nothing().
  virtual std::string may_have_forgotten() const = 0;
  virtual void forgot_nothing() = 0;
  // Counts the starts: more than any before, and at least `least`. Durable on return.
  virtual Result<std::uint64_t> count_start(std::uint64_t least) = 0;

  // ---- kernel

  virtual Result<Lease> lease(ResourceNumber resource) const = 0;
  // Who holds by the kernel's tables: after a restart, what the agent before left.
  virtual std::map<ResourceNumber, Holder> holders() const = 0;
  // See dataplane/leases.h.
  virtual Result<> raise_fence(ResourceNumber resource, Epoch epoch) = 0;
  virtual Result<> extend(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) = 0;
  virtual Result<> shorten(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) = 0;
  virtual Result<> stop(ResourceNumber resource) = 0;
  // From its return on these hold, all at once, and nobody else holds anything. Holders that the snapshot
  // does not admit are left out.
  virtual Result<> hold(const std::map<ResourceNumber, Holder>& holders) = 0;

  // ---- links

  // Whole or not at all.
  virtual bool send(std::string_view gateway, ByteView message) = 0;

  // ---- what others want to know

  // This gateway serves the resource from now on, or once more after a heal: tell the site's neighbours.
  virtual void announce(ResourceNumber resource) = 0;
};

}  // namespace postern::claims
