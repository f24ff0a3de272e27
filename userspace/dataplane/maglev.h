// SPDX-License-Identifier: Apache-2.0
// Maglev's lookup table (Eisenbud et al., NSDI 2016, 3.4): every backend has its own order of preference over
// all places, and they take turns at picking the first free one of theirs. Shares follow the weights, and
// when a backend goes, the places of the others stay theirs but for a few (property in maglev_test).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "abi.h"

namespace postern::dataplane {

struct MaglevBackend {
  std::string name;          // makes its order of preference; two must differ
  std::uint32_t weight = 1;  // 0: gets no place
};

using MaglevTable = std::array<std::uint8_t, PT_MAGLEV_SIZE>;

// Each place holds the position of its backend in the list, or PT_NO_BACKEND when no weight is above 0. The
// order of the list does not matter but for those positions. At most PT_MAX_BACKENDS.
MaglevTable maglev(const std::vector<MaglevBackend>& backends);

}  // namespace postern::dataplane
