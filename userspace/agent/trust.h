// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "authority/snapshot.h"
#include "core/result.h"
#include "ledger/authority_log.h"

namespace postern::agent {

// The root that decides now: the journaled one, or the trust anchor's before the first adoption.
Result<authority::Root> trusted_root(const ledger::AuthorityState& state,
                                     const std::filesystem::path& trust_anchor, const std::string& mesh);

}  // namespace postern::agent
