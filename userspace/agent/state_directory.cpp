// SPDX-License-Identifier: Apache-2.0
#include "agent/state_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/errors.h"

namespace postern::agent {

Result<> check_state_directory(const StateDirectory& state) {
  const std::string path = state.path.string();
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT) {
      return fail(errc::state_absent,
                  "there is no state directory " + path + "; make it with `postern init`");
    }
    return fail(errc::state_unsafe,
                "cannot look at the state directory " + path + ": " + std::strerror(errno));
  }
  if (!S_ISDIR(facts.st_mode)) {
    return fail(errc::state_unsafe,
                path +
                    " is no directory (a symbolic link is not followed); set `state` in the "
                    "config to the directory itself");
  }
  if (facts.st_uid != ::geteuid()) {
    return fail(errc::state_unsafe, "the state directory " + path + " belongs to uid " +
                                        std::to_string(facts.st_uid) + ", expected " +
                                        std::to_string(::geteuid()) +
                                        "; chown it after you made sure of what is in it");
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(errc::state_unsafe, "others than its owner may enter the state directory " + path +
                                        "; run `chmod 0700 " + path + "`");
  }
  return {};
}

}  // namespace postern::agent
