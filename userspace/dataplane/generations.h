// SPDX-License-Identifier: Apache-2.0
// The two slots and the flip (SPEC 2.3). adopt() is: barrier, fill fresh inner maps, read back and compare,
// point the idle slot at them, one 64-bit store. A packet sees the old generation whole or the new one whole.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "dataplane/leases.h"
#include "dataplane/plane.h"
#include "dataplane/tables.h"

namespace postern::dataplane {

struct SwapReport {
  Generation generation;
  bool changed = false;  // false: the active tables were equal already, nothing was written
  std::vector<std::string_view> tables_written;  // those that differed from the active ones
};

class Generations {
 public:
  // `plane` must outlive this. Reads the selector.
  static Result<Generations> open(const Plane& plane);

  Generations(Generations&&) noexcept;
  Generations& operator=(Generations&&) noexcept;
  ~Generations();

  // Generation 0: nothing was ever adopted, all mesh traffic is dropped as CLOSED.
  Generation active() const;

  // What adopt() does that takes long and touches nothing that is served: fresh maps of the tables that
  // differ.
  class Prepared {
   public:
    Prepared(Prepared&&) noexcept;
    Prepared& operator=(Prepared&&) noexcept;
    ~Prepared();

   private:
    friend class Generations;
    struct State;
    explicit Prepared(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };

  // The first half of adopt(), for any thread: it may run beside all else but adopt(), commit() and another
  // one of itself. Who holds resources may change meanwhile; that table is commit()'s.
  Result<Prepared> prepare(const Tables& tables) const;
  // The second half, with the same tables but for `resources`, and with no adopt() or commit() in between. As
  // adopt().
  Result<SwapReport> commit(Prepared prepared, const Tables& tables, Generation floor = Generation(),
                            std::uint64_t closes_ns = 0);

  // Makes `tables` the active generation. On failure the active one is untouched and still served.
  // `floor`: the new generation's number is above it, so numbers rise across lost pins. `closes_ns`: when the
  // kernel closes it by itself, as close_at() has it; in force with the flip, and with equal tables at once.
  Result<SwapReport> adopt(const Tables& tables, Generation floor = Generation(),
                           std::uint64_t closes_ns = 0);

  // Makes a generation that differs from the active one in who holds resources alone: for the cost of these
  // rows, however large the other tables are, and in the order of adopt(). Nothing must be known of the rest.
  // Equal rows: nothing is written. On failure the active generation is untouched and still served. Fails
  // with errc::map while nothing was adopted.
  Result<SwapReport> hold(const Rows<__u32, pt_resource>& resources, Generation floor = Generation());
  // Of the active generation alone, without its large tables; nothing while nothing was adopted. `holders`:
  // who holds the resources.
  Result<Rows<__u32, pt_resource>> holders() const;
  Result<Rows<pt_port_key, pt_port>> ports() const;
  Result<pt_gateway> gateway() const;

  // The active generation is closed from this instant of CLOCK_MONOTONIC on, in nanoseconds, whether or not
  // an agent lives; 0: it is not. One store, which may move the instant either way.
  void close_at(std::uint64_t closes_ns) const;
  std::uint64_t closes_ns() const;

  // How many generations' tables the kernel holds: the active one and, after a swap, the one before.
  Result<unsigned> alive() const;

  // The active tables as the kernel has them.
  Result<Tables> read_active() const;

  // Raises fence epochs to at least these; never lowers one. Not swapped: it only denies.
  Result<> raise_fences(const std::map<ResourceNumber, Epoch>& floors);
  Result<Epoch> fence(ResourceNumber resource) const;
  // What each of the active generation's first `rules` rules let pass, since its list of rules came into
  // force.
  Result<std::vector<pt_count>> rule_counts(std::size_t rules) const;
  // The same fences, and the deadlines beside them. Lives as long as *this.
  const Leases& leases() const;

 private:
  struct State;
  explicit Generations(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace postern::dataplane
