// SPDX-License-Identifier: Apache-2.0
// The tests that a policy brings along: who must reach what, and who must not. Judged by the compiled
// snapshot, as the packet path judges the first packet of a flow (SPEC 6.2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "authority/snapshot.h"
#include "config/policy_file.h"
#include "core/result.h"

namespace postern::authority {

struct PolicyTestResult {
  int line = 0;
  std::string what;  // "10.1.0.5 to 10.2.0.9 in blue, tcp port 443"
  bool wants_allow = false;
  bool allowed = false;
  std::string because;  // what decided
  bool passed() const { return wants_allow == allowed; }
};

// In the order of policy.tests. `snapshot` is what compile_policy made of `policy`. A resource is taken as
// held.
std::vector<PolicyTestResult> run_policy_tests(const config::PolicyFile& policy, const Snapshot& snapshot);

// Fails with errc::policy_test when a test does, naming the first one and its line.
Result<> require_policy_tests(const std::vector<PolicyTestResult>& results, std::string_view origin);

}  // namespace postern::authority
