// SPDX-License-Identifier: Apache-2.0
// What the compiler of policies has to say beside its result.
#pragma once

#include <string>
#include <vector>

#include "wire/json.h"

namespace postern::cli {

// "warning  ...\n" each.
std::string warning_lines(const std::vector<std::string>& warnings);
wire::Json warning_list(const std::vector<std::string>& warnings);

}  // namespace postern::cli
