// SPDX-License-Identifier: Apache-2.0
// A snapshot's place in history, from what `authority compile` was told.
#pragma once

#include <cstdint>
#include <string>

#include "authority/adoption_rules.h"
#include "authority/policy.h"
#include "core/result.h"

namespace postern::cli {

struct EditionRequest {
  std::uint64_t serial = 1;
  std::string after;            // signed snapshot to follow; empty: `serial`, with a zero prev
  std::string issued;           // UTC instant; empty: now
  std::string expires = "90d";  // after `issued`, or a UTC instant
};

struct Chained {
  authority::Edition edition;
  std::optional<authority::Adopted> predecessor;  // what --after names, if it was given
  std::optional<authority::Snapshot> predecessor_snapshot;
};

Result<Chained> resolve_edition(const EditionRequest& request, UtcSeconds now);

}  // namespace postern::cli
