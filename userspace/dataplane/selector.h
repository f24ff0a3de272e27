// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "abi.h"
#include "core/ids.h"
#include "dataplane/mapped_array.h"

namespace postern::dataplane {

// The word that says which generation and slot is served (SPEC 2.1). A store is one 64-bit store: packets see
// the old value or the new one.
class Selector {
 public:
  explicit Selector(MappedArray memory) : memory_(std::move(memory)) {}

  Generation generation() const { return Generation(PT_SELECTOR_GENERATION(load())); }
  std::uint32_t active_slot() const { return PT_SELECTOR_SLOT(load()); }
  std::uint32_t idle_slot() const { return 1 - active_slot(); }
  // Serves the idle slot from now on, as this generation.
  void flip(Generation generation) const { word().store(PT_SELECTOR(generation.value, idle_slot())); }

 private:
  std::atomic_ref<std::uint64_t> word() const { return std::atomic_ref(*memory_.as<std::uint64_t>()); }
  std::uint64_t load() const { return word().load(); }

  MappedArray memory_;
};

}  // namespace postern::dataplane
