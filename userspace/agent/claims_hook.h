// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "agent/watched_fd.h"
#include "core/ids.h"
#include "core/unique_fd.h"

namespace spdlog {
class logger;
}

namespace postern::agent {

// An operator's program that hears what this gateway comes to hold and loses (SPEC 6.5), for a routing
// daemon: HOOK held|lost RESOURCE EPOCH. One runs at a time, in order, never through a shell, and the loop
// does not wait for it; its exit status is logged. What is not begun yet of a resource is replaced by what is
// newer.
class ClaimsHook {
 public:
  // Both must outlive this.
  ClaimsHook(asio::io_context& io, spdlog::logger& log) : io_(io), log_(log), patience_(io) {}
  ClaimsHook(const ClaimsHook&) = delete;
  ClaimsHook& operator=(const ClaimsHook&) = delete;
  // Lets a program that runs go on.
  ~ClaimsHook() = default;

  // Empty: none. What runs already goes on.
  void use(std::filesystem::path program) { program_ = std::move(program); }
  void tell(bool held, const std::string& resource, Epoch epoch);

 private:
  struct Call {
    bool held = false;
    std::string resource;
    Epoch epoch;
    std::string text() const;
  };
  void start_next();
  void ended();
  void give_up();

  asio::io_context& io_;
  spdlog::logger& log_;
  std::filesystem::path program_;
  std::deque<Call> waiting_;
  std::optional<Call> running_;
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  std::unique_ptr<WatchedFd> watch_;
  asio::steady_timer patience_;
};

}  // namespace postern::agent
