// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "agent/names.h"
#include "dataplane/dry_run.h"
#include "dataplane/tables.h"
#include "wire/json.h"

namespace postern::agent {

// What postern/explain/v1 says of one packet (SPEC 1.17): the verdict, the stage that gave it, whom the
// addresses belong to, the rule, the way out, what the packet would have changed, and what of the snapshot
// decided. `tables`: of the generation that judged it.
wire::Json explain_report(const dataplane::DryResult& result, const dataplane::Tables& tables,
                          const Names& names, std::uint64_t now_boot_ns);

}  // namespace postern::agent
