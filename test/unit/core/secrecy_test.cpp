// SPDX-License-Identifier: Apache-2.0
#include "core/secrecy.h"

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

TEST_CASE("a process that forbade memory dumps leaves no core behind") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    rlimit core{};
    const bool done = postern::forbid_memory_dumps().has_value() && ::prctl(PR_GET_DUMPABLE) == 0 &&
                      ::getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0;
    std::signal(SIGABRT, SIG_DFL);
    if (done) ::kill(::getpid(), SIGABRT);
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK_FALSE(WCOREDUMP(status));
}
