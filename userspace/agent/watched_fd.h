// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/posix/stream_descriptor.hpp>
#include <functional>

namespace postern::agent {

// Calls `ready` on the loop each time the descriptor becomes readable. Works on a duplicate, so the
// descriptor stays its owner's.
class WatchedFd {
 public:
  WatchedFd(asio::io_context& io, int fd, std::function<void()> ready);
  WatchedFd(const WatchedFd&) = delete;
  WatchedFd& operator=(const WatchedFd&) = delete;

 private:
  void wait();

  asio::posix::stream_descriptor descriptor_;
  std::function<void()> ready_;
};

}  // namespace postern::agent
