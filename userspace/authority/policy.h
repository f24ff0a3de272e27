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

// Classes are those that the policy declares, or else those that prefixes name. Errors read "origin:line:
// ...". The result is valid: encode_snapshot of it is accepted by parse_snapshot. Of `before`, the snapshot
// that the new one follows, it keeps what must not be lost (succession.h). The policy's tests are not run
// here.
Result<Snapshot> compile_policy(const config::PolicyFile& policy, std::string_view origin,
                                const Edition& edition, const Snapshot* before = nullptr);

}  // namespace postern::authority
