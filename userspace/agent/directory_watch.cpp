// SPDX-License-Identifier: Apache-2.0
#include "agent/directory_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>

namespace postern::agent {
namespace {

constexpr std::chrono::seconds kLookAnyway{10};
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB;

}  // namespace

DirectoryWatch::DirectoryWatch(asio::io_context& io, std::filesystem::path directory,
                               std::function<void()> changed)
    : directory_(std::move(directory)),
      changed_(std::move(changed)),
      inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (inotify_) watched_.emplace(io, inotify_.get(), [this] { drain(); });
  watch();

  timer_.emplace(io, kLookAnyway, [this] {
    watch();
    changed_();
  });
}

// Watching what is watched already changes nothing.
void DirectoryWatch::watch() {
  if (inotify_) ::inotify_add_watch(inotify_.get(), directory_.c_str(), kEvents);
}

void DirectoryWatch::drain() {
  alignas(inotify_event) std::array<char, 4096> events;
  while (::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
  changed_();
}

}  // namespace postern::agent
