// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace postern::wire {

// Initialises libsodium before its first use; ends the process when that fails, since nothing safe can
// follow.
void sodium_ready();

}  // namespace postern::wire
