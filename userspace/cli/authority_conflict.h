// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/answer.h"
#include "cli/command.h"

namespace postern::cli {

// The conflict that the running gateway keeps proof of, or that there is none.
Outcome show_conflict(const Globals& globals);

}  // namespace postern::cli
