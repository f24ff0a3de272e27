// SPDX-License-Identifier: Apache-2.0
#include "cli/live_output.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <string>

#include "cli/errors.h"
#include "core/file.h"

namespace postern::cli {

Result<LiveOutput> LiveOutput::open() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  UniqueFd stop(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!stop || ::sigprocmask(SIG_BLOCK, &set, nullptr) != 0 || std::signal(SIGPIPE, SIG_IGN) == SIG_ERR)
    return fail(errc::output, std::string("cannot wait for signals: ") + std::strerror(errno));
  return LiveOutput(std::move(stop));
}

int LiveOutput::fd() {
  return STDOUT_FILENO;
}

bool LiveOutput::stop_asked() const {
  pollfd poll{stop_fd(), POLLIN, 0};
  return ::poll(&poll, 1, 0) > 0;
}

bool LiveOutput::pause(std::chrono::milliseconds span) const {
  pollfd polls[] = {{stop_fd(), POLLIN, 0}, {fd(), 0, 0}};
  return ::poll(polls, std::size(polls), static_cast<int>(span.count())) <= 0;
}

bool LiveOutput::write(std::string_view bytes) {
  if (write_all(STDOUT_FILENO, bytes)) return true;
  problem_ = errno == EPIPE ? 0 : errno;
  return false;
}

}  // namespace postern::cli
