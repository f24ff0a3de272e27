// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/bytes.h"
#include "core/result.h"

namespace postern::ledger {

// The id that /etc/machine-id gives this machine; zeros on a system without that file. A journal remembers
// it: one that turns up on another machine is a copy, and two copies would fork a stream (SPEC 4.2).
Result<Id128> machine_id();

}  // namespace postern::ledger
