// SPDX-License-Identifier: Apache-2.0
// The unswapped rows behind a rate: a bucket for each peer and direction, and each CPU's credit from it.
#pragma once

#include "core/result.h"
#include "dataplane/plane.h"
#include "dataplane/tables.h"

namespace postern::dataplane {

// Makes the rows that `tables` meters by and that do not exist yet; those that do keep what was taken. Before
// the swap: a rate without its rows drops everything.
Result<> make_meter_rows(const Plane& plane, const Tables& tables);

}  // namespace postern::dataplane
