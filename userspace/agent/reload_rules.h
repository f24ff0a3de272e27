// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/config.h"
#include "core/result.h"
#include "dataplane/backstop.h"

namespace postern::agent {

// Fails when the new config changes what only a restart can: who this gateway is, and where it keeps things.
Result<> check_reloadable(const config::Config& running, const config::Config& wanted);

// Rules that close what either closes. Both name the same table.
dataplane::BackstopRules both(const dataplane::BackstopRules& before, const dataplane::BackstopRules& after);

}  // namespace postern::agent
