// SPDX-License-Identifier: Apache-2.0
#include "ledger/writer_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "ledger/errors.h"

namespace postern::ledger {
namespace {

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

// The leading NUL makes it abstract; the length counts, so no mesh's name is another's beginning.
Address address_of(std::string_view mesh) {
  const std::string text = "postern/journal/" + std::string(mesh);
  Address address;
  address.name.sun_family = AF_UNIX;
  const std::size_t bytes = std::min(text.size(), sizeof address.name.sun_path - 1);
  std::copy_n(text.data(), bytes, address.name.sun_path + 1);
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  return address;
}

UniqueFd new_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// The kernel tells who listens, not the holder itself: it may be frozen.
std::string holder_of(const Address& address) {
  const UniqueFd fd = new_socket();
  ucred who{};
  socklen_t bytes = sizeof who;
  const bool told = fd && ::connect(fd.get(), address.get(), address.bytes) == 0 &&
                    ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 && who.pid > 0;
  return told ? "pid " + std::to_string(who.pid) : "a process that cannot be seen from here";
}

}  // namespace

LockOutcome bind_outcome(int error) {
  if (error == 0) return LockOutcome::held;
  if (error == EADDRINUSE) return LockOutcome::contended;
  return LockOutcome::unsupported;
}

Result<WriterSocket> WriterSocket::hold(std::string_view mesh) {
  const Address address = address_of(mesh);
  UniqueFd fd = new_socket();
  const bool bound = fd && ::bind(fd.get(), address.get(), address.bytes) == 0;
  const int error = bound ? 0 : errno;
  switch (bind_outcome(error)) {
    case LockOutcome::held:
      break;
    case LockOutcome::contended:
      return fail(errc::contended,
                  "mesh \"" + std::string(mesh) +
                      "\" already has a writer in this network namespace: " + holder_of(address) +
                      ", on another copy of the state directory; stop that process first, and "
                      "keep only the copy that served last");
    case LockOutcome::unsupported:
      return fail(errc::lock_unsupported,
                  "cannot claim the name of mesh \"" + std::string(mesh) +
                      "\" in this network namespace (errno " + std::to_string(error) +
                      "); without it a second copy of the journal could be written too");
  }
  // Connections are what a contender learns the holder from; nobody accepts them.
  if (::listen(fd.get(), 1) != 0)
    return fail(errc::lock_unsupported, "cannot listen under the name of mesh \"" + std::string(mesh) + "\"");
  return WriterSocket(std::move(fd));
}

}  // namespace postern::ledger
