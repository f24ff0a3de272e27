// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern {

namespace errc {
inline constexpr ErrorCode secrecy{"process.secrecy"};
}  // namespace errc

// From here on no core dump of this process is written, and nobody without CAP_SYS_PTRACE reads its memory:
// it holds secret keys.
Result<> forbid_memory_dumps();

}  // namespace postern
