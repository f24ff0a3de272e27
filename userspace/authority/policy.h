// SPDX-License-Identifier: Apache-2.0
// From the policy that people write to the snapshot that the authority signs. Pure.
#pragma once

#include <string_view>

#include "authority/snapshot.h"
#include "config/policy_file.h"
#include "core/result.h"

namespace postern::authority {

// What a snapshot says beyond the policy: its place in history.
struct Edition {
  Serial serial;
  Hash256 prev{};
  UtcSeconds issued;
  UtcSeconds expires;
};

// Classes are those that prefixes name; a rule about another one is refused. Errors read "origin:line: ...".
// The result is valid: encode_snapshot of it is accepted by parse_snapshot.
Result<Snapshot> compile_policy(const config::PolicyFile& policy, std::string_view origin,
                                const Edition& edition);

}  // namespace postern::authority
