// SPDX-License-Identifier: Apache-2.0
// What `postern doctor` looks at by itself, one family a file (SPEC 7.5). None of them changes anything.
#pragma once

#include <vector>

#include "config/config.h"
#include "wire/check.h"

namespace postern::cli {

using Checks = std::vector<wire::Check>;

// State directory, node key and journal: who may read and write them.
void check_state(const config::Config& config, Checks& checks);
// Whether the state's disk has room for a journal that rolls.
void check_space(const config::Config& config, Checks& checks);
// The journal as it lies on the disk; for when no agent can tell. Takes no lock.
void check_journal(const config::Config& config, Checks& checks);
// The kernel of this network namespace: forwarding, where pins go, memory that BPF maps may lock.
void check_kernel(const config::Config& config, Checks& checks);

}  // namespace postern::cli
