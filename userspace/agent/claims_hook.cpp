// SPDX-License-Identifier: Apache-2.0
#include "agent/claims_hook.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <spdlog/logger.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace postern::agent {
namespace {

// A program that takes longer is stuck, and holds up what comes after it.
constexpr std::chrono::seconds kPatience{30};

// In a process group of its own, so that what it starts can be ended with it; signals as a program expects
// them, whatever the agent made of its own.
int spawn(const std::filesystem::path& program, const std::array<std::string, 3>& words, pid_t& pid) {
  ::posix_spawn_file_actions_t files;
  ::posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawnattr_init(&attributes);
  sigset_t all;
  sigset_t none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::string path = program.string();
  std::array<std::string, 3> own = words;
  char* arguments[] = {path.data(), own[0].data(), own[1].data(), own[2].data(), nullptr};
  const int error = ::posix_spawn(&pid, path.c_str(), &files, &attributes, arguments, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

std::string ClaimsHook::Call::text() const {
  return std::string(held ? "held " : "lost ") + resource + " " + std::to_string(epoch.value);
}

void ClaimsHook::tell(bool held, const std::string& resource, Epoch epoch) {
  if (program_.empty()) return;
  std::erase_if(waiting_, [&](const Call& call) { return call.resource == resource; });
  waiting_.push_back({held, resource, epoch});
  start_next();
}

void ClaimsHook::start_next() {
  if (running_ || waiting_.empty()) return;
  const Call call = waiting_.front();
  waiting_.pop_front();
  const int error =
      spawn(program_, {call.held ? "held" : "lost", call.resource, std::to_string(call.epoch.value)}, pid_);
  if (error != 0) {
    log_.error("claims hook: cannot run {} {}: {}", program_.string(), call.text(), std::strerror(error));
    return asio::post(io_, [this] { start_next(); });
  }
  running_ = call;
  pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_) {
    log_.error("claims hook: {} {} runs unwatched: {}", program_.string(), call.text(), std::strerror(errno));
    running_.reset();
    return;
  }
  watch_ = std::make_unique<WatchedFd>(io_, pidfd_.get(), [this] { ended(); });
  patience_.expires_after(kPatience);
  patience_.async_wait([this](const std::error_code& stopped) {
    if (!stopped) give_up();
  });
}

void ClaimsHook::ended() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return;
  patience_.cancel();
  const std::string what = running_->text();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    log_.info("claims hook: {}: exit status 0", what);
  else if (WIFEXITED(status))
    log_.warn("claims hook: {}: exit status {}", what, WEXITSTATUS(status));
  else
    log_.warn("claims hook: {}: ended by signal {}", what, WTERMSIG(status));
  running_.reset();
  // Not from within: it is the watch that calls.
  asio::post(io_, [this] {
    watch_.reset();
    pidfd_ = UniqueFd();
    start_next();
  });
}

void ClaimsHook::give_up() {
  if (!running_) return;
  log_.warn("claims hook: {}: not done after {} s, ended", running_->text(), kPatience.count());
  // It leads its group until it is waited for, so the number is nobody else's.
  ::kill(-pid_, SIGKILL);
}

}  // namespace postern::agent
