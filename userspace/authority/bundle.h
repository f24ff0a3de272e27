// SPDX-License-Identifier: Apache-2.0
// The bundle (SPEC 3.7): several signed snapshots in one file, so that a gateway that slept through root
// changes can follow them one by one. A plain container that is trusted for nothing:
//
//   postern-bundle-v1\n
//   SERIAL LENGTH\n  <LENGTH bytes of a signed snapshot file>\n     in rising order of SERIAL
//
// SERIAL lets a reader pass over what it has already; it must be the snapshot's own, which the reader checks
// after the signatures.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "authority/envelope.h"
#include "authority/errors.h"
#include "authority/snapshot_codec.h"
#include "core/ids.h"
#include "core/result.h"

namespace postern::authority {

inline constexpr std::string_view kBundleHead = "postern-bundle-v1\n";
inline constexpr std::size_t kMaxBundleEntries = 1024;
// As large as the largest signed snapshot: whatever carries one carries a bundle.
inline constexpr std::size_t kMaxBundleBytes = kMaxSnapshotBytes + kMaxSignatureBytes;

// A view into the bundle's text, which must outlive it.
struct BundleEntry {
  Serial serial;
  std::string_view file;
};

// Whether the text claims to be a bundle. A signed snapshot never does: it starts with a brace.
bool is_bundle(std::string_view text);

// Entries in rising order of serials, at least one. Fails with errc::bundle, naming the entry and what was
// expected, or errc::too_large. Nothing in the entries is looked at.
Result<std::vector<BundleEntry>> open_bundle(std::string_view text);

// `entries` are in rising order of serials. open_bundle of the result gives them back.
std::string seal_bundle(std::span<const BundleEntry> entries);

}  // namespace postern::authority
