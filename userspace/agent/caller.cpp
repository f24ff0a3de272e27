// SPDX-License-Identifier: Apache-2.0
#include "agent/caller.h"

#include <grp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/errors.h"

namespace postern::agent {
namespace {

constexpr std::size_t kGroupBuffer = 64U << 10;
constexpr std::size_t kMaxGroups = 65536;  // NGROUPS_MAX

}  // namespace

Result<Caller> caller_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return fail(errc::control_socket, std::string("cannot tell who is calling: ") + std::strerror(errno));
  Caller caller{credentials.pid, credentials.uid, std::vector<gid_t>(kMaxGroups)};
  socklen_t group_bytes = static_cast<socklen_t>(caller.groups.size() * sizeof(gid_t));
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, caller.groups.data(), &group_bytes) != 0)
    return fail(errc::control_socket,
                std::string("cannot tell the caller's groups: ") + std::strerror(errno));
  caller.groups.resize(group_bytes / sizeof(gid_t));
  caller.groups.push_back(credentials.gid);
  return caller;
}

bool may_change(const Caller& caller, std::optional<gid_t> administrators) {
  if (caller.uid == 0) return true;
  return administrators &&
         std::find(caller.groups.begin(), caller.groups.end(), *administrators) != caller.groups.end();
}

std::optional<gid_t> group_id(const char* name) {
  std::vector<char> buffer(kGroupBuffer);
  group entry{};
  group* found = nullptr;
  if (::getgrnam_r(name, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  return found->gr_gid;
}

}  // namespace postern::agent
