// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "unit/core/scratch_directory.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::testing;

TEST_CASE("a file that was written durably is read back, with its mode, and nothing beside it") {
  const ScratchDirectory scratch;
  const std::string content(200'000, 'x');
  REQUIRE(outcome(write_file_durably(scratch / "a", content, 0640)) == "ok");
  CHECK(read_file(scratch / "a", content.size()).value() == content);
  struct stat status {};
  REQUIRE(::stat((scratch / "a").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0640);
  CHECK(scratch.entries() == 1);
}

TEST_CASE("writing a file again replaces its content") {
  const ScratchDirectory scratch;
  REQUIRE(outcome(write_file_durably(scratch / "a", "old", 0600)) == "ok");
  REQUIRE(outcome(write_file_durably(scratch / "a", "", 0600)) == "ok");
  CHECK(read_file(scratch / "a", 10).value().empty());
}

TEST_CASE("a file larger than the limit is refused, also when its size is not known beforehand") {
  const ScratchDirectory scratch;
  REQUIRE(outcome(write_file_durably(scratch / "a", "0123456789", 0600)) == "ok");
  CHECK(outcome(read_file(scratch / "a", 10)) == "ok");
  CHECK(outcome(read_file(scratch / "a", 9)) == "file.too_large");
  CHECK(outcome(read_file("/proc/self/maps", 10)) == "file.too_large");
  CHECK(outcome(read_file("/dev/zero", 100'000)) == "file.too_large");
}

TEST_CASE("a missing file and a directory are unreadable, and the error names them") {
  const ScratchDirectory scratch;
  CHECK(outcome(read_file(scratch / "none", 10)) == "file.unreadable");
  CHECK(says(read_file(scratch / "none", 10), "none"));
  CHECK(outcome(read_file(scratch / "", 10)) == "file.unreadable");
}

TEST_CASE("a write that fails leaves the target as it was and no temporary file") {
  const ScratchDirectory scratch;
  std::filesystem::create_directories(scratch / "taken/inside");
  CHECK(outcome(write_file_durably(scratch / "taken", "x", 0600)) == "file.unwritable");
  CHECK(std::filesystem::is_directory(scratch / "taken/inside"));
  CHECK(scratch.entries() == 1);
  CHECK(outcome(write_file_durably(scratch / "no/such/directory", "x", 0600)) == "file.unwritable");
}

TEST_CASE("creating a file never replaces one") {
  const ScratchDirectory scratch;
  REQUIRE(outcome(create_file_durably(scratch / "a", "first", 0600)) == "ok");
  CHECK(outcome(create_file_durably(scratch / "a", "second", 0600)) == "file.exists");
  CHECK(read_file(scratch / "a", 10).value() == "first");
  std::filesystem::create_symlink(scratch / "nowhere", scratch / "link");
  CHECK(outcome(create_file_durably(scratch / "link", "x", 0600)) == "file.exists");
  CHECK(scratch.entries() == 2);
}
