// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "abi.h"
#include "core/ids.h"
#include "dataplane/mapped_array.h"

namespace postern::dataplane {

// The word that says which generation and slot is served (SPEC 2.1), and beside it one for each slot: when it
// closes by itself, in nanoseconds of CLOCK_MONOTONIC, 0 for never. A store is one 64-bit store: packets see
// the old value or the new one.
class Selector {
 public:
  explicit Selector(MappedArray memory) : memory_(std::move(memory)) {}

  Generation generation() const { return Generation(PT_SELECTOR_GENERATION(load())); }
  std::uint32_t active_slot() const { return PT_SELECTOR_SLOT(load()); }
  std::uint32_t idle_slot() const { return 1 - active_slot(); }
  // Serves the idle slot from now on, as this generation.
  void flip(Generation generation) const { word(0).store(PT_SELECTOR(generation.value, idle_slot())); }

  std::uint64_t closes_ns(std::uint32_t slot) const { return word(PT_CLOSES(slot)).load(); }
  void set_closes_ns(std::uint32_t slot, std::uint64_t closes_ns) const {
    word(PT_CLOSES(slot)).store(closes_ns);
  }

 private:
  std::atomic_ref<std::uint64_t> word(std::uint32_t at) const {
    return std::atomic_ref(memory_.as<std::uint64_t>()[at]);
  }
  std::uint64_t load() const { return word(0).load(); }

  MappedArray memory_;
};

}  // namespace postern::dataplane
