// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "authority/snapshot.h"

namespace postern::dataplane {

// Ports in classes: two ports are of one class exactly when the same range lists name them. Class 0 is of the
// ports that none names. Built by splitting: each list cuts every class that it holds only in part in two.
// Works on intervals between range ends, so its cost follows the lists and not the ports.
class PortPartition {
 public:
  // Each list's ranges have first <= last; they may overlap and touch.
  explicit PortPartition(const std::vector<std::vector<authority::PortRange>>& lists);

  // Class 0 included.
  std::size_t class_count() const { return sizes_.size(); }
  std::uint32_t class_of(std::uint16_t port) const;
  // The classes that make up a list that this was built from, each once.
  std::vector<std::uint32_t> classes_in(const std::vector<authority::PortRange>& list) const;
  // Calls visit(first, last, class) for the intervals, in order, over the whole space.
  template <class Visit>
  void each_interval(const Visit& visit) const {
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      const std::uint32_t end = i + 1 < starts_.size() ? starts_[i + 1] : 65536;
      visit(starts_[i], end - 1, classes_[i]);
    }
  }

 private:
  std::vector<std::size_t> intervals_in(const std::vector<authority::PortRange>& list) const;
  std::size_t interval_of(std::uint32_t port) const;
  void split_by(const std::vector<authority::PortRange>& list);

  std::vector<std::uint32_t> starts_;   // of intervals, ascending, from 0
  std::vector<std::uint32_t> classes_;  // of each interval
  std::vector<std::size_t> sizes_;      // of each class, in intervals
};

}  // namespace postern::dataplane
