// SPDX-License-Identifier: Apache-2.0
#include "dataplane/table_digest.h"

#include "wire/hash.h"

namespace postern::dataplane {
namespace {

ByteView bytes_of(std::span<const std::byte> part) {
  return {reinterpret_cast<const std::uint8_t*>(part.data()), part.size()};
}

}  // namespace

TableDigest::TableDigest(const RowView& rows) {
  for (std::size_t row = 0; row < rows.size(); ++row)
    add(rows.key(row), rows.value(row));
}

void TableDigest::add(std::span<const std::byte> key, std::span<const std::byte> value) {
  ++rows_;
  for (std::uint64_t salt = 0; salt < 2; ++salt) {
    sums_[salt] += wire::checksum(bytes_of(value), wire::checksum(bytes_of(key), salt));
  }
}

}  // namespace postern::dataplane
