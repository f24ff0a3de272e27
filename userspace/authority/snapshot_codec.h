// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "authority/errors.h"
#include "authority/snapshot.h"
#include "core/result.h"

namespace postern::authority {

inline constexpr std::size_t kMaxSnapshotBytes = 256U << 20;

// Reads a payload whose signatures have been verified. Strict: canonical bytes, known fields only, every
// reference resolves, ids unique, one owner a prefix, no peer's underlay address inside a mesh prefix.
Result<Snapshot> parse_snapshot(std::string_view payload);

// The canonical payload. parse_snapshot(encode_snapshot(s)) == s for every valid s.
std::string encode_snapshot(const Snapshot& snapshot);

}  // namespace postern::authority
