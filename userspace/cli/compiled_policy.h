// SPDX-License-Identifier: Apache-2.0
// A policy as every command reads it: one bound on its size, one way to its snapshot.
#pragma once

#include <string>
#include <string_view>

#include "authority/policy.h"
#include "core/result.h"

namespace postern::cli {

struct CompiledPolicy {
  config::PolicyFile policy;
  authority::Snapshot snapshot;
};

// Place in history of a policy that is only looked at.
inline constexpr authority::Edition kNoEdition{
    .serial = Serial(1), .prev = {}, .issued = UtcSeconds(0), .expires = UtcSeconds(1)};

// Errors name the file; more than config::kMaxPolicyBytes is file_too_large. `before`: the snapshot that this
// one follows.
Result<CompiledPolicy> compile_policy_file(const std::string& path, const authority::Edition& edition,
                                           const authority::Snapshot* before = nullptr);
// The same of a file that has been read.
Result<CompiledPolicy> compile_policy_text(std::string_view text, const std::string& path,
                                           const authority::Edition& edition,
                                           const authority::Snapshot* before = nullptr);

}  // namespace postern::cli
