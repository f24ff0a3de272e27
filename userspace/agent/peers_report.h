// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "abi.h"
#include "core/ids.h"
#include "dataplane/compile.h"
#include "dataplane/tables.h"
#include "wire/json.h"

namespace postern::agent {

// The answer to `peers` (SPEC 7.2): the kernel's peer and endpoint rows under the names of the legend.
// `counts` gives a peer's counters.
wire::Json peers_report(const dataplane::Tables& tables, const dataplane::Legend& legend,
                        const std::function<pt_peer_count(PeerId)>& counts);

}  // namespace postern::agent
