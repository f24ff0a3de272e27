// SPDX-License-Identifier: Apache-2.0
// The class of each prefix of a policy: the one that it names, or the one that its tags lead to (SPEC 6.2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/policy_file.h"
#include "core/result.h"

namespace postern::authority {

// In the order of policy.prefixes. A prefix has its own tags and its owner's; it is of the class all of whose
// tags it has. Of several such classes the one with most tags wins; a draw, or none, is errc::policy.
Result<std::vector<std::string>> classes_of_prefixes(const config::PolicyFile& policy,
                                                     std::string_view origin);

}  // namespace postern::authority
