// SPDX-License-Identifier: Apache-2.0
#include "agent/control_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include "agent/caller.h"
#include "agent/errors.h"

namespace postern::agent {
namespace {

constexpr int kBacklog = 64;
constexpr mode_t kDirectoryMode = 0755;

tl::unexpected<Error> refused(const std::filesystem::path& path, const std::string& why) {
  return fail(errc::control_socket, "cannot serve the control socket " + path.string() + ": " + why +
                                        "; set `socket` in the config to a path of its own");
}

Result<sockaddr_un> address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.size() >= sizeof address.sun_path)
    return refused(path, "longer than " + std::to_string(sizeof address.sun_path - 1) + " bytes");
  std::copy(text.begin(), text.end(), address.sun_path);
  return address;
}

Result<> make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  if (directory.empty() || std::filesystem::exists(directory, error)) return {};
  if (!std::filesystem::create_directories(directory, error) ||
      ::chmod(directory.c_str(), kDirectoryMode) != 0)
    return refused(directory, "cannot make this directory: " + error.message());
  return {};
}

bool is_answered(const sockaddr_un& address) {
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

Result<> remove_stale(const std::filesystem::path& path, const sockaddr_un& address) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return {};
  if (!S_ISSOCK(facts.st_mode)) return refused(path, "something that is no socket has this name");
  if (is_answered(address)) return refused(path, "another process answers there");
  if (::unlink(path.c_str()) != 0)
    return refused(path, std::string("cannot remove the stale socket: ") + std::strerror(errno));
  return {};
}

// The name appears with the mode that it keeps.
int bind_closed(int fd, const sockaddr_un& address) {
  const mode_t before = ::umask(S_IRWXG | S_IRWXO | S_IXUSR);
  const int bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::umask(before);
  return bound;
}

}  // namespace

Result<ControlSocket> ControlSocket::listen(const std::filesystem::path& path) {
  Result<sockaddr_un> address = address_of(path);
  if (!address) return pass_on(std::move(address));
  if (Result<> made = make_directory(path.parent_path()); !made) return pass_on(std::move(made));
  if (Result<> free = remove_stale(path, *address); !free) return pass_on(std::move(free));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || bind_closed(fd.get(), *address) != 0) return refused(path, std::strerror(errno));
  ControlSocket socket(std::move(fd), path);
  if (const std::optional<gid_t> readers = group_id(kReadersGroup)) {
    if (::chown(path.c_str(), static_cast<uid_t>(-1), *readers) != 0 ||
        ::chmod(path.c_str(), S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) != 0)
      return refused(path, std::string("cannot open it to group postern: ") + std::strerror(errno));
  }
  if (::listen(socket.get(), kBacklog) != 0) return refused(path, std::strerror(errno));
  return socket;
}

ControlSocket::~ControlSocket() {
  if (fd_) ::unlink(path_.c_str());
}

}  // namespace postern::agent
