// SPDX-License-Identifier: Apache-2.0
// A snapshot's file as the signer's side reads it: parsed, with no word about its signatures.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "core/result.h"

namespace postern::cli {

inline constexpr std::size_t kMaxSnapshotFileBytes =
    authority::kMaxSnapshotBytes + authority::kMaxSignatureBytes;

struct SnapshotFile {
  authority::Snapshot snapshot;
  Hash256 hash{};
};

// Errors name the file.
Result<SnapshotFile> read_snapshot_file(const std::string& path);
// The same of a file that has been read.
Result<SnapshotFile> parse_snapshot_file(std::string_view text, const std::string& path);

}  // namespace postern::cli
