// SPDX-License-Identifier: Apache-2.0
// What must hold between the parts of a snapshot beyond each part's own form (SPEC 3.3). Shared by the reader
// of documents and the compiler of policies, which differ in how they name a place.
#pragma once

#include "authority/errors.h"
#include "authority/snapshot.h"
#include "authority/snapshot_names.h"
#include "core/result.h"

namespace postern::authority {

inline constexpr std::size_t kMaxGateways = 1024;
inline constexpr std::uint32_t kMaxVni = 0xffffff;
inline constexpr std::uint32_t kMaxResourceNumber = 4095;
inline constexpr std::uint32_t kMinTtlMs = 100;
inline constexpr std::uint32_t kMaxTtlMs = 3'600'000;
inline constexpr std::uint32_t kMaxWeight = 1000;  // of a backend

// Fails with the first fault: too many of something (errc::capacity), a name that is malformed, taken twice
// or of nothing, an address that cannot be, two owners of one prefix, an underlay address inside the mesh
// itself.
Result<> check_snapshot(const Snapshot& snapshot, const Place& place);

}  // namespace postern::authority
