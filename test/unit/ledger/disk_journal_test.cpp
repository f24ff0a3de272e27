// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>

#include <filesystem>

#include "ledger/journal.h"

namespace postern::ledger {
namespace {

// A directory on a disk's file system, gone with the test.
class DiskDirectory {
 public:
  DiskDirectory() {
    std::string pattern = "/var/tmp/postern-journal-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~DiskDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  DiskDirectory(const DiskDirectory&) = delete;
  DiskDirectory& operator=(const DiskDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("a journal on a disk replays what it acknowledged, read past the page cache") {
  const DiskDirectory disk;
  JournalOptions options;
  options.directory = disk.path() / "journal";
  options.any_file_system = true;  // a build machine may have an overlay there
  REQUIRE(Journal::create(options));
  std::vector<std::string> all;
  for (int start = 0; start < 3; ++start) {
    std::vector<std::string> replayed;
    const Result<std::unique_ptr<Journal>> journal =
        Journal::open(options, [&](const Record& record) -> Result<> {
          replayed.push_back(record.payload);
          return {};
        });
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    CHECK(replayed == all);
    for (int i = 0; i < 3; ++i) {
      all.push_back("{\"n\":" + std::to_string(start * 3 + i) + "}");
      REQUIRE((*journal)->append(std::vector<std::string>{all.back()}));
    }
    CHECK((*journal)->status().flushes == 3);
    CHECK((*journal)->status().flush_seconds > 0);
  }
}

TEST_CASE("no file of the journal is handed on to a program that is executed") {
  const DiskDirectory disk;
  JournalOptions options;
  options.directory = disk.path();
  options.any_file_system = true;
  REQUIRE(Journal::create(options));
  const Result<std::unique_ptr<Journal>> journal = Journal::open(options, {});
  REQUIRE(journal);
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone);
    if (!target.starts_with(disk.path().string())) continue;
    ++found;
    CAPTURE(target);
    CHECK((::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(found == 3);  // the directory, LOCK, the segment that is written
}

}  // namespace postern::ledger
