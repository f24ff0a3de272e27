// SPDX-License-Identifier: Apache-2.0
// The authority's keys as both the snapshot and the trust anchor spell them: "keys" (base64) and "threshold".
#pragma once

#include "authority/snapshot.h"
#include "core/result.h"
#include "wire/fields.h"

namespace postern::authority {

inline constexpr std::size_t kMaxRootKeys = 64;

// Asks `fields` for "keys" and "threshold"; errors stay in it.
Root read_root(wire::Fields& fields);
wire::Json root_keys(const Root& root);
// Keys are distinct, 1 to kMaxRootKeys, and the threshold can be reached: else errc::bad_root.
Result<> check_root(const Root& root);

}  // namespace postern::authority
