// SPDX-License-Identifier: Apache-2.0
// A snapshot's file as the signer's side reads it: parsed, with no word about its signatures.
#pragma once

#include <cstddef>
#include <string>

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

}  // namespace postern::cli
