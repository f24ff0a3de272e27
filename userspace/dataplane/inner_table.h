// SPDX-License-Identifier: Apache-2.0
// One table of one generation in the kernel: today a hash or LPM map behind a slot of an array of maps. What
// carries the rows is this class's secret; a flat table would answer to the same calls.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/unique_fd.h"
#include "dataplane/row_view.h"
#include "dataplane/table_digest.h"

namespace postern::dataplane {

class InnerTable {
 public:
  using Visit = std::function<void(std::span<const std::byte> key, std::span<const std::byte> value)>;

  // A fresh table of these rows that nobody reaches yet, read back and found equal (errc::digest if not).
  static Result<InnerTable> fill(std::string_view name, const RowView& rows);
  // What `slot` of the array of maps `outer_fd` refers to; none when the slot is empty.
  static Result<std::optional<InnerTable>> find(std::string_view name, int outer_fd, std::uint32_t slot);

  // Two are the same table exactly when their ids are equal.
  std::uint32_t id() const { return id_; }
  // Calls for each row, in no order. The table must not be written meanwhile.
  Result<> each(const Visit& visit) const;
  Result<TableDigest> digest() const;
  // Makes `slot` refer to this table. Returns after a grace period.
  Result<> place(int outer_fd, std::uint32_t slot) const;

 private:
  InnerTable(std::string_view name, UniqueFd fd, std::uint32_t id, std::size_t key_bytes,
             std::size_t value_bytes)
      : name_(name), fd_(std::move(fd)), id_(id), key_bytes_(key_bytes), value_bytes_(value_bytes) {}

  Result<> write(const RowView& rows) const;
  Result<> compare(const RowView& rows) const;
  Result<bool> each_batch(const Visit& visit) const;
  Result<> each_single(const Visit& visit) const;

  std::string name_;
  UniqueFd fd_;
  std::uint32_t id_;
  std::size_t key_bytes_;
  std::size_t value_bytes_;
};

}  // namespace postern::dataplane
