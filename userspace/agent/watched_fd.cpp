// SPDX-License-Identifier: Apache-2.0
#include "agent/watched_fd.h"

#include <fcntl.h>

namespace postern::agent {

WatchedFd::WatchedFd(asio::io_context& io, int fd, std::function<void()> ready)
    : descriptor_(io, ::fcntl(fd, F_DUPFD_CLOEXEC, 0)), ready_(std::move(ready)) {
  wait();
}

void WatchedFd::wait() {
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const std::error_code& error) {
    if (error) return;
    ready_();
    wait();
  });
}

}  // namespace postern::agent
