// SPDX-License-Identifier: Apache-2.0
#include "cli/compiled_policy.h"

#include "core/file.h"

namespace postern::cli {

Result<CompiledPolicy> compile_policy_file(const std::string& path, const authority::Edition& edition,
                                           const authority::Snapshot* before) {
  Result<std::string> text = read_file(path, config::kMaxPolicyBytes);
  if (!text) return pass_on(std::move(text));
  return compile_policy_text(*text, path, edition, before);
}

Result<CompiledPolicy> compile_policy_text(std::string_view text, const std::string& path,
                                           const authority::Edition& edition,
                                           const authority::Snapshot* before) {
  if (text.size() > config::kMaxPolicyBytes) return too_large_file(path, config::kMaxPolicyBytes);
  Result<config::PolicyFile> policy = config::parse_policy_file(text, path);
  if (!policy) return pass_on(std::move(policy));
  Result<authority::Snapshot> snapshot = authority::compile_policy(*policy, path, edition, before);
  if (!snapshot) return pass_on(std::move(snapshot));
  return CompiledPolicy{std::move(*policy), std::move(*snapshot)};
}

}  // namespace postern::cli
