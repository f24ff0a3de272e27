// SPDX-License-Identifier: Apache-2.0
// Says when something in a directory may have changed: files written, renamed over, or gone. inotify tells at
// once; a slow timer tells what inotify cannot, such as a directory that appears later.
#pragma once

#include <asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <optional>

#include "agent/repeating_timer.h"
#include "agent/watched_fd.h"
#include "core/unique_fd.h"

namespace postern::agent {

class DirectoryWatch {
 public:
  // `changed` is called on the loop; never from here.
  DirectoryWatch(asio::io_context& io, std::filesystem::path directory, std::function<void()> changed);
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

 private:
  void watch();
  void drain();

  std::filesystem::path directory_;
  std::function<void()> changed_;
  UniqueFd inotify_;
  std::optional<WatchedFd> watched_;
  std::optional<RepeatingTimer> timer_;
};

}  // namespace postern::agent
