// SPDX-License-Identifier: Apache-2.0
#include "agent/state_directory.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "agent/errors.h"
#include "unit/core/scratch_directory.h"

using namespace postern;
using namespace postern::agent;
using postern::testing::ScratchDirectory;

TEST_CASE("a state directory that only its owner may enter is accepted") {
  const ScratchDirectory scratch;
  CHECK(check_state_directory({scratch.path()}));
}

TEST_CASE("a state directory that is missing is refused with the way to make one") {
  const ScratchDirectory scratch;
  const Result<> checked = check_state_directory({scratch.path() / "none"});
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == errc::state_absent);
  CHECK(checked.error().context.find("postern init") != std::string::npos);
}

TEST_CASE("a state directory that others may enter is refused") {
  const ScratchDirectory scratch;
  for (const mode_t mode : {0710, 0701, 0755}) {
    REQUIRE(::chmod(scratch.path().c_str(), mode) == 0);
    const Result<> checked = check_state_directory({scratch.path()});
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == errc::state_unsafe);
  }
}

TEST_CASE("a state directory behind a symbolic link, or that is a file, is refused") {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch.path() / "real");
  std::filesystem::create_directory_symlink(scratch.path() / "real", scratch.path() / "link");
  CHECK_FALSE(check_state_directory({scratch.path() / "link"}));
  REQUIRE(::mknod((scratch.path() / "file").c_str(), S_IFREG | 0600, 0) == 0);
  CHECK_FALSE(check_state_directory({scratch.path() / "file"}));
}

TEST_CASE("a state directory of somebody else is refused") {
  if (::geteuid() != 0) return;
  const ScratchDirectory scratch;
  REQUIRE(::chown(scratch.path().c_str(), 65534, 65534) == 0);
  const Result<> checked = check_state_directory({scratch.path()});
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == errc::state_unsafe);
}
