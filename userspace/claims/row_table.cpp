// SPDX-License-Identifier: Apache-2.0
#include "claims/row_table.h"

namespace postern::claims {

Hash256 RowTable::digest_of_all(const std::map<ResourceNumber, Row>& rows) {
  std::vector<Row> list;
  list.reserve(rows.size());
  for (const auto& [resource, row] : rows)
    list.push_back(row);
  return digest_of(list);
}

bool RowTable::set(const Row& row, std::uint64_t beats) {
  Row& known = rows_[row.resource];
  if (known == row && changed_by_.count(row.resource) != 0) return false;
  known = row;
  changed_by_[row.resource] = beats;
  digest_.reset();
  return true;
}

const Hash256& RowTable::digest() const {
  if (!digest_) digest_ = digest_of_all(rows_);
  return *digest_;
}

bool RowTable::clear(ResourceNumber resource, std::uint64_t beats) {
  if (rows_.count(resource) == 0) return false;
  Row nothing;
  nothing.resource = resource;
  return set(nothing, beats);
}

bool RowTable::take(const BeatMessage& message) {
  if (message.rows.empty() && !message.whole) return digest() == message.beat.rows_digest;
  std::map<ResourceNumber, Row> rows;
  if (!message.whole) rows = rows_;
  for (const Row& row : message.rows)
    rows[row.resource] = row;
  const Hash256 digest = digest_of_all(rows);
  if (digest != message.beat.rows_digest || rows.size() > kMaxRows) return false;
  for (const auto& [resource, row] : rows) {
    const auto before = rows_.find(resource);
    if (before == rows_.end() || before->second != row) changed_by_[resource] = message.beat.beats;
  }
  rows_ = std::move(rows);
  digest_ = digest;
  return true;
}

void RowTable::reset() {
  *this = RowTable();
}

const Row* RowTable::find(ResourceNumber resource) const {
  const auto found = rows_.find(resource);
  return found == rows_.end() ? nullptr : &found->second;
}

std::vector<Row> RowTable::since(std::uint64_t beats) const {
  std::vector<Row> out;
  for (const auto& [resource, row] : rows_)
    if (beats == 0 || changed_by_.at(resource) > beats) out.push_back(row);
  return out;
}

}  // namespace postern::claims
