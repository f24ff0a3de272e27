// SPDX-License-Identifier: Apache-2.0
// A node's rows, and when each of them last changed, in beats of that node: so a message about it carries
// what is new to its receiver and no more (SPEC 10.3).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "claims/beat.h"

namespace postern::claims {

class RowTable {
 public:
  // Own rows: what is to be told by beat `beats`. False: it stood there already.
  bool set(const Row& row, std::uint64_t beats);
  // Of a resource that the snapshot has no more: nothing is said of it, which is a row too.
  bool clear(ResourceNumber resource, std::uint64_t beats);

  // Another node's rows, by its beat. False, and nothing changed: they do not add up to the beat's digest.
  bool take(const BeatMessage& message);
  // Forgets all: the node has started anew.
  void reset();

  const Row* find(ResourceNumber resource) const;
  const std::map<ResourceNumber, Row>& rows() const { return rows_; }
  const Hash256& digest() const;
  // Those that changed by a beat after `beats`; all when `beats` is 0.
  std::vector<Row> since(std::uint64_t beats) const;

 private:
  static Hash256 digest_of_all(const std::map<ResourceNumber, Row>& rows);

  std::map<ResourceNumber, Row> rows_;
  std::map<ResourceNumber, std::uint64_t> changed_by_;
  mutable std::optional<Hash256> digest_;  // none: to be computed
};

}  // namespace postern::claims
