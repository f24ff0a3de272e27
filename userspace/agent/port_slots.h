// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"

namespace postern::agent {

// Which row of the interface counters belongs to whom. An interface keeps its slot for as long as it is
// configured.
class PortSlots {
 public:
  PortSlots() = default;
  // Slots as the kernel's active generation has them.
  explicit PortSlots(std::map<std::string, std::uint16_t> held) : held_(std::move(held)) {}

  // Frees the slots of names that are not listed and gives the lowest free ones to new names. Fails, changing
  // nothing, when there are more names than slots.
  Result<> assign(const std::vector<std::string>& names);

  // Of a name that assign() was given.
  std::uint16_t of(const std::string& name) const { return held_.at(name); }

 private:
  std::map<std::string, std::uint16_t> held_;
};

}  // namespace postern::agent
