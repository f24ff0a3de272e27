// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "dataplane/tables.h"

namespace postern::dataplane {

// The rows of one table without their types: what a carrier of tables needs to know of them. Borrows.
class RowView {
 public:
  template <class Key, class Value>
  explicit RowView(const Rows<Key, Value>& rows)
      : first_(reinterpret_cast<const std::byte*>(rows.data())),
        count_(rows.size()),
        stride_bytes_(sizeof(std::pair<Key, Value>)),
        key_bytes_(sizeof(Key)),
        value_bytes_(sizeof(Value)),
        value_offset_((sizeof(Key) + alignof(Value) - 1) / alignof(Value) * alignof(Value)) {
    static_assert(std::is_standard_layout_v<std::pair<Key, Value>>);
  }

  std::size_t size() const { return count_; }
  std::size_t key_bytes() const { return key_bytes_; }
  std::size_t value_bytes() const { return value_bytes_; }
  std::span<const std::byte> key(std::size_t row) const { return {first_ + row * stride_bytes_, key_bytes_}; }
  std::span<const std::byte> value(std::size_t row) const {
    return {first_ + row * stride_bytes_ + value_offset_, value_bytes_};
  }

 private:
  const std::byte* first_;
  std::size_t count_;
  std::size_t stride_bytes_;
  std::size_t key_bytes_;
  std::size_t value_bytes_;
  std::size_t value_offset_;
};

}  // namespace postern::dataplane
