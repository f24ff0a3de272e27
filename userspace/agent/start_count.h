// SPDX-License-Identifier: Apache-2.0
// How often this gateway's agent has started: the first half of what its beats count (SPEC 10.4). Others
// believe a beat only if it is above all that they have heard of, so the number must not fall, and need not
// be dense.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/ids.h"
#include "core/result.h"

namespace postern::agent {

struct StartCount {
  std::uint64_t starts = 0;
  bool first = false;   // there was no file: a gateway's first start, or it was lost
  std::string trouble;  // what is wrong with the file that was there; "" when nothing is
};

// One more than the file says, at least `least`; in the file, durably, on return. Where the file says nothing
// the count goes on from `now`, as what was lost has counted no faster than seconds go by. Fails when the
// file cannot be written; then nobody may go by the new number.
Result<StartCount> count_start(const std::filesystem::path& file, std::uint64_t least, UtcSeconds now);

}  // namespace postern::agent
