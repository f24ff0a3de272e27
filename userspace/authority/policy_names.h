// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "config/policy_file.h"
#include "core/result.h"

namespace postern::authority {

// Every name that the policy uses is that of something in it. Else errc::policy, with line, column, and what
// was likely meant.
Result<> check_policy_names(const config::PolicyFile& policy, std::string_view origin);

}  // namespace postern::authority
