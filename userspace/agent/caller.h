// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace postern::agent {

inline constexpr const char* kReadersGroup = "postern";
inline constexpr const char* kAdministratorsGroup = "postern-admin";

// Who is at the other end of a unix socket, as the kernel vouches for it: at the time of its connect().
struct Caller {
  pid_t pid = 0;
  uid_t uid = 0;
  std::vector<gid_t> groups;  // the primary one and all others
};

Result<Caller> caller_of(int socket);

// root, or a member of the administrators' group. `administrators`: that group's id if there is one.
bool may_change(const Caller& caller, std::optional<gid_t> administrators);

// The group's id, or none when there is no such group.
std::optional<gid_t> group_id(const char* name);

}  // namespace postern::agent
