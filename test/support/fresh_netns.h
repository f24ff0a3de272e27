// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>

#include <cstdlib>
#include <string>

#include "core/unique_fd.h"

namespace postern::testing {

// This thread is in an empty network namespace of its own while it lives; whatever was made there goes with
// it.
class FreshNetns {
 public:
  FreshNetns() : home_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    REQUIRE(home_);
    REQUIRE(::unshare(CLONE_NEWNET) == 0);
    run("ip link set lo up");
  }
  ~FreshNetns() { ::setns(home_.get(), CLONE_NEWNET); }
  FreshNetns(const FreshNetns&) = delete;
  FreshNetns& operator=(const FreshNetns&) = delete;

  void run(const std::string& command) const { REQUIRE_MESSAGE(try_run(command), command); }
  bool try_run(const std::string& command) const {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
  }

  // A pair of veth devices, both up and with a driver that has native XDP.
  void add_veth(const std::string& one, const std::string& other) const {
    run("ip link add " + one + " type veth peer name " + other);
    run("ip link set " + one + " up");
    run("ip link set " + other + " up");
  }

 private:
  UniqueFd home_;
};

}  // namespace postern::testing
