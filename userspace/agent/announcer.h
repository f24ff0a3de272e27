// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <memory>
#include <set>

#include "agent/gateway.h"
#include "core/ids.h"

namespace spdlog {
class logger;
}

namespace postern::agent {

// Tells a site's hosts that a resource's addresses have come to this gateway (SPEC 1.21): each address of its
// own prefix, on the local interfaces of its segment. Only what they could reach by this gateway's MAC: an
// address that is configured here, or the segment's gateway address with the segment's MAC.
class Announcer {
 public:
  // All must outlive this.
  Announcer(asio::io_context& io, Gateway& gateway, spdlog::logger& log)
      : gateway_(gateway), log_(log), again_(io) {}
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  // At once, and once more two seconds later: neighbours may miss one.
  void announce(ResourceNumber resource);
  // It is not this gateway's any more: no second announcement.
  void withdraw(ResourceNumber resource) { due_again_.erase(resource); }

 private:
  void send(ResourceNumber resource);

  Gateway& gateway_;
  spdlog::logger& log_;
  asio::steady_timer again_;
  std::set<ResourceNumber> due_again_;
};

}  // namespace postern::agent
