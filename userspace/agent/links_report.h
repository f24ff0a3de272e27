// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/links_status.h"
#include "agent/sync_status.h"
#include "wire/json.h"

namespace postern::agent {

// The answer to `links` (SPEC 7.2).
wire::Json links_report(const LinksStatus& status, const SyncStatus& sync);

}  // namespace postern::agent
