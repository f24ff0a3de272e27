// SPDX-License-Identifier: Apache-2.0
// What a snapshot has to keep of the one before it (SPEC 6.2): claims of gateways and candidates that are
// gone can still be under way, so that their keys, and their names as former candidates, stay known.
#pragma once

#include "authority/errors.h"
#include "authority/snapshot.h"
#include "core/result.h"

namespace postern::authority {

// Adds to `next`: a tombstone for each gateway of `before` that is gone, and those that `before` has; as
// `former` each candidate that a resource had and no longer has; the epoch floors that `next` does not name.
// Fails with errc::policy when a gateway has another key than a gateway or tombstone of its name had, or a
// resource has the number of another one.
Result<> carry_over(const Snapshot& before, Snapshot& next);

}  // namespace postern::authority
