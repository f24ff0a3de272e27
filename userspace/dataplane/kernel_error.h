// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>

#include "core/result.h"

namespace postern::dataplane {

// A failed system call as an error: what was tried, and the kernel's reason. `error` is a positive errno.
[[nodiscard]] inline tl::unexpected<Error> kernel_error(ErrorCode code, const std::string& what, int error) {
  return fail(code, what + ": " + std::strerror(error));
}

}  // namespace postern::dataplane
