// SPDX-License-Identifier: Apache-2.0
#include "dataplane/port_partition.h"

#include <algorithm>
#include <set>

namespace postern::dataplane {

using authority::PortRange;

PortPartition::PortPartition(const std::vector<std::vector<PortRange>>& lists) {
  std::vector<bool> starts(65537);
  starts[0] = true;
  for (const auto& list : lists) {
    for (const PortRange& range : list) {
      starts[range.first] = true;
      starts[std::uint32_t{range.last} + 1] = true;
    }
  }
  for (std::uint32_t port = 0; port < 65536; ++port) {
    if (starts[port]) starts_.push_back(port);
  }
  classes_.resize(starts_.size());
  // One more than there are: a list that names every port still leaves class 0 behind, empty.
  sizes_.push_back(starts_.size() + 1);
  for (const auto& list : lists)
    split_by(list);
}

std::size_t PortPartition::interval_of(std::uint32_t port) const {
  return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), port) - starts_.begin()) -
         1;
}

std::uint32_t PortPartition::class_of(std::uint16_t port) const {
  return classes_[interval_of(port)];
}

std::vector<std::size_t> PortPartition::intervals_in(const std::vector<PortRange>& list) const {
  std::vector<std::size_t> out;
  for (const PortRange& range : list) {
    for (std::size_t i = interval_of(range.first); i < starts_.size() && starts_[i] <= range.last; ++i) {
      out.push_back(i);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void PortPartition::split_by(const std::vector<PortRange>& list) {
  const std::vector<std::size_t> inside = intervals_in(list);
  const std::size_t before = sizes_.size();
  std::vector<std::size_t> counts(before);
  for (const std::size_t i : inside)
    ++counts[classes_[i]];
  std::vector<std::uint32_t> renamed(before);
  for (std::uint32_t c = 0; c < before; ++c) {
    renamed[c] = c;
    if (counts[c] == 0 || counts[c] == sizes_[c]) continue;
    renamed[c] = static_cast<std::uint32_t>(sizes_.size());
    sizes_[c] -= counts[c];
    sizes_.push_back(counts[c]);
  }
  for (const std::size_t i : inside)
    classes_[i] = renamed[classes_[i]];
}

std::vector<std::uint32_t> PortPartition::classes_in(const std::vector<PortRange>& list) const {
  std::set<std::uint32_t> out;
  for (const std::size_t i : intervals_in(list))
    out.insert(classes_[i]);
  return {out.begin(), out.end()};
}

}  // namespace postern::dataplane
