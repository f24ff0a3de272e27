// SPDX-License-Identifier: Apache-2.0
#include "core/secrecy.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace postern {

Result<> forbid_memory_dumps() {
  constexpr rlimit kNone{0, 0};
  if (::prctl(PR_SET_DUMPABLE, 0) == 0 && ::setrlimit(RLIMIT_CORE, &kNone) == 0) return {};
  return fail(errc::secrecy,
              std::string("cannot forbid core dumps, which would hold secret keys: ") + std::strerror(errno));
}

}  // namespace postern
