// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>

#include "unit/ledger/scratch_journal.h"

namespace postern::ledger {
namespace {

namespace fs = std::filesystem;

ErrorCode refusal(ScratchJournal& scratch) {
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(!journal);
  return journal.error().code;
}

}  // namespace

TEST_CASE("a directory that others may enter is refused") {
  ScratchJournal scratch;
  fs::permissions(scratch.path(), fs::perms(0750));
  CHECK(refusal(scratch) == errc::unsafe_directory);
  fs::permissions(scratch.path(), fs::perms(0700));
  CHECK(scratch.open());
}

TEST_CASE("a directory behind a symbolic link is refused, at the end of the path and inside it") {
  ScratchJournal scratch;
  ScratchJournal elsewhere(false);
  fs::create_directory_symlink(scratch.path(), elsewhere.file("link"));
  fs::create_directory_symlink(scratch.path().parent_path(), elsewhere.file("parent"));
  JournalOptions options = scratch.options;
  options.directory = elsewhere.file("link");
  const Result<std::unique_ptr<Journal>> by_link = Journal::open(options, {});
  REQUIRE(!by_link);
  CHECK(by_link.error().code == errc::unsafe_directory);
  options.directory = elsewhere.file("parent") / scratch.path().filename();
  const Result<std::unique_ptr<Journal>> by_parent = Journal::open(options, {});
  REQUIRE(!by_parent);
  CHECK(by_parent.error().code == errc::unsafe_directory);
}

TEST_CASE("a file of the journal that is a link, has a second name or another mode is refused") {
  for (const std::string name : {"LOCK", "seg-1"}) {
    CAPTURE(name);
    ScratchJournal scratch;
    SUBCASE("symbolic link") {
      fs::rename(scratch.file(name), scratch.file("moved"));
      fs::create_symlink("moved", scratch.file(name));
    }
    SUBCASE("second name") {
      fs::create_hard_link(scratch.file(name), scratch.file("second"));
    }
    SUBCASE("others may read") {
      fs::permissions(scratch.file(name), fs::perms(0640));
    }
    SUBCASE("nobody may read") {
      fs::permissions(scratch.file(name), fs::perms(0));
    }
    SUBCASE("directory") {
      fs::remove(scratch.file(name));
      fs::create_directory(scratch.file(name));
      fs::permissions(scratch.file(name), fs::perms(0600));
    }
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(!journal);
    CHECK((journal.error().code == errc::unsafe_directory || journal.error().code == errc::io));
    CHECK_MESSAGE(journal.error().context.find(name) != std::string::npos, journal.error().context);
  }
}

TEST_CASE("a file system whose fsync is not known is refused") {
  ScratchJournal scratch;
  scratch.options.any_file_system = false;
  for (const std::uint64_t magic :
       {0x01021994, 0x794c7630, 0x6969, 0x65735546}) {  // tmpfs, overlayfs, NFS, FUSE
    const auto recording = std::make_shared<Recording>();
    recording->file_system = magic;
    const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
    REQUIRE(!journal);
    CHECK(journal.error().code == errc::file_system);
    CHECK(recording->calls.empty());
  }
  for (const std::uint64_t magic :
       {0xef53U, 0x58465342U, 0x9123683eU, 0xf2f52010U}) {  // ext4, xfs, btrfs, f2fs
    const auto recording = std::make_shared<Recording>();
    recording->file_system = magic;
    CHECK(scratch.open(recording));
  }
}

TEST_CASE("a real tmpfs is refused, for creating and for opening") {
  const fs::path path = "/dev/shm/postern-journal-test";
  if (!fs::exists("/dev/shm")) return;
  fs::remove_all(path);
  JournalOptions options;
  options.directory = path;
  const Result<> created = Journal::create(options);
  REQUIRE(!created);
  CHECK(created.error().code == errc::file_system);
  options.any_file_system = true;
  REQUIRE(Journal::create(options));
  options.any_file_system = false;
  const Result<std::unique_ptr<Journal>> opened = Journal::open(options, {});
  REQUIRE(!opened);
  CHECK(opened.error().code == errc::file_system);
  fs::remove_all(path);
}

TEST_CASE("only create makes a journal, and never over another one") {
  ScratchJournal scratch(false);
  CHECK(refusal(scratch) == errc::absent);
  CHECK(fs::is_empty(scratch.path()));
  REQUIRE(Journal::create(scratch.options));
  const auto before = scratch.contents();
  const Result<> again = Journal::create(scratch.options);
  REQUIRE(!again);
  CHECK(again.error().code == errc::exists);
  CHECK(scratch.contents() == before);

  JournalOptions nowhere = scratch.options;
  nowhere.directory = scratch.file("nowhere");
  CHECK(Journal::open(nowhere, {}).error().code == errc::absent);
}

TEST_CASE("a journal whose segments are gone is not replaced while its snapshots are there") {
  ScratchJournal scratch;
  fs::remove(scratch.file("seg-1"));
  CHECK(refusal(scratch) == errc::absent);
  fs::copy_file(scratch.file("LOCK"), scratch.file("auth-1-ab"));
  CHECK(refusal(scratch) == errc::damage);
  const Result<> again = Journal::create(scratch.options);
  REQUIRE(!again);
  CHECK(again.error().code == errc::exists);
}

TEST_CASE("a creation that was cut short can be done again") {
  ScratchJournal scratch;
  fs::remove(scratch.file("seg-1"));
  scratch.overwrite("spare", 0, "left by the first attempt");
  REQUIRE(Journal::create(scratch.options));
  CHECK(scratch.open());
}

TEST_CASE("files beside the segments are replaced whole, listed and removed; other names are refused") {
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  Journal& j = **journal;
  REQUIRE(j.put_file("auth-1-ab", "first"));
  REQUIRE(j.put_file("auth-1-ab", "second"));
  REQUIRE(j.put_file("auth-2-cd", ""));
  CHECK(j.get_file("auth-1-ab", 100).value() == "second");
  CHECK(j.get_file("auth-2-cd", 100).value().empty());
  CHECK(!j.get_file("auth-1-ab", 5));
  CHECK(j.list_files("auth-").value() == std::vector<std::string>{"auth-1-ab", "auth-2-cd"});
  CHECK(j.list_files("auth-2").value() == std::vector<std::string>{"auth-2-cd"});
  CHECK(j.list_files("seg-").value().empty());
  REQUIRE(j.remove_file("auth-1-ab"));
  REQUIRE(j.remove_file("auth-1-ab"));
  CHECK(!j.get_file("auth-1-ab", 100));
  for (const std::string_view name :
       {"seg-1", "LOCK", "spare", "auth-../x", "../auth-1", "auth-1.tmp", "auth-A", ""}) {
    CAPTURE(name);
    CHECK(j.put_file(name, "x").error().code == errc::file_name);
    CHECK(j.remove_file(name).error().code == errc::file_name);
    // What a crash left of a file may be looked at.
    if (name != "auth-1.tmp") CHECK(j.get_file(name, 100).error().code == errc::file_name);
  }
}

TEST_CASE("a file beside the segments is durable before it has its name") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  recording->calls.clear();
  REQUIRE((*journal)->put_file("auth-1-ab", "content"));
  const std::size_t flushed = recording->index_of("datasync auth-1-ab.tmp");
  const std::size_t renamed = recording->index_of("rename auth-1-ab.tmp auth-1-ab");
  CHECK(recording->index_of("write auth-1-ab.tmp") < flushed);
  CHECK(flushed < renamed);
  CHECK(renamed < recording->index_of("sync"));
  CHECK(recording->index_of("sync") < recording->calls.size());
}

}  // namespace postern::ledger
