// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/row_view.h"

namespace postern::dataplane {

// What a table holds, in constant space and whatever the order its rows come in. Against accidents: who may
// write rows is for signatures to say.
class TableDigest {
 public:
  TableDigest() = default;
  explicit TableDigest(const RowView& rows);

  void add(std::span<const std::byte> key, std::span<const std::byte> value);
  friend bool operator==(const TableDigest&, const TableDigest&) = default;

 private:
  std::uint64_t rows_ = 0;
  std::uint64_t sums_[2] = {};
};

}  // namespace postern::dataplane
