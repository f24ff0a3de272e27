// SPDX-License-Identifier: Apache-2.0
#include "agent/caller.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "core/unique_fd.h"

using namespace postern;
using namespace postern::agent;

TEST_CASE("the kernel tells who is at the other end of a socket") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const UniqueFd mine(ends[0]);
  const UniqueFd other(ends[1]);
  const Result<Caller> caller = caller_of(mine.get());
  REQUIRE(caller);
  CHECK(caller->pid == ::getpid());
  CHECK(caller->uid == ::geteuid());
  CHECK(std::count(caller->groups.begin(), caller->groups.end(), ::getegid()) >= 1);
}

TEST_CASE("only root and administrators may change anything") {
  constexpr gid_t kAdministrators = 500;
  CHECK(may_change({1, 0, {}}, std::nullopt));
  CHECK(may_change({1, 1000, {100, kAdministrators}}, kAdministrators));
  CHECK_FALSE(may_change({1, 1000, {100}}, kAdministrators));
  CHECK_FALSE(may_change({1, 1000, {100, kAdministrators}}, std::nullopt));
}

TEST_CASE("a group that does not exist has no id") {
  CHECK(group_id("root") == gid_t{0});
  CHECK_FALSE(group_id("no-such-group-anywhere"));
}
