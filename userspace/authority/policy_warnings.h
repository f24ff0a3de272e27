// SPDX-License-Identifier: Apache-2.0
// Rules that can be left out, or that were likely meant otherwise. Nothing here makes a policy invalid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "authority/snapshot.h"
#include "config/policy_file.h"

namespace postern::authority {

// "origin:line: ..." each. `snapshot` is what compile_policy made of `policy`, whose rules have the same
// order. Found are: a rule that says what another one says; one whose packets another one lets through
// already; one that no packet can match, because a class has no prefix in use, or none of the family, or the
// two classes have no segment in common.
std::vector<std::string> policy_warnings(const config::PolicyFile& policy, const Snapshot& snapshot,
                                         std::string_view origin);

}  // namespace postern::authority
