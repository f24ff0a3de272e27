// SPDX-License-Identifier: Apache-2.0
// The simulated disk must be as bad as it says it is: a proof by it is worth no more.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "ledger/errors.h"
#include "ledger/segmented_journal.h"
#include "sim/simulated_directory.h"

namespace postern::ledger::sim {
namespace {

constexpr std::size_t kSectors = 3;

std::unique_ptr<File> file_of(SimulatedDisk& disk, Access access) {
  Io<std::unique_ptr<File>> file = SimulatedDirectory(disk).open("f", access);
  REQUIRE(file);
  return std::move(*file);
}

void write(File& file, char fill) {
  const Bytes bytes(kSectors * 512, static_cast<std::uint8_t>(fill));
  REQUIRE(write_fully(file, bytes, 0));
}

// One letter a sector, "-" for one that is not of one letter.
std::string read(SimulatedDisk& disk, Access access) {
  const std::unique_ptr<File> file = file_of(disk, access);
  Bytes bytes(kSectors * 512);
  REQUIRE(read_fully(*file, bytes, 0));
  std::string letters;
  for (std::size_t s = 0; s < kSectors; ++s) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(s * 512);
    letters += std::all_of(begin, begin + 512, [&](std::uint8_t b) { return b == *begin; })
                   ? static_cast<char>(*begin)
                   : '-';
  }
  return letters;
}

// A file of flushed 'a', named for certain.
void settle(SimulatedDisk& disk) {
  const std::unique_ptr<File> file = file_of(disk, Access::create);
  write(*file, 'a');
  REQUIRE(file->datasync());
  REQUIRE(SimulatedDirectory(disk).sync());
}

}  // namespace

TEST_SUITE_BEGIN("journal_durability_tests");

TEST_CASE("a power cut leaves each unflushed sector with any of its contents, and flushed ones alone") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    SimulatedDisk disk({}, seed);
    settle(disk);
    const std::unique_ptr<File> file = file_of(disk, Access::write);
    write(*file, 'b');
    write(*file, 'c');
    CHECK(read(disk, Access::read) == "ccc");
    disk.end_now(End::power_cut);
    disk.restart();
    seen.insert(read(disk, Access::read));
    CHECK(!file->facts());
  }
  CHECK(seen.size() == 27);  // three contents for each of three sectors
  SimulatedDisk disk({}, 1);
  settle(disk);
  disk.end_now(End::power_cut);
  disk.restart();
  CHECK(read(disk, Access::read) == "aaa");
}

TEST_CASE("a killed process leaves the page cache as it was") {
  SimulatedDisk disk({}, 1);
  settle(disk);
  const std::unique_ptr<File> file = file_of(disk, Access::write);
  write(*file, 'b');
  disk.end_now(End::killed);
  disk.restart();
  CHECK(read(disk, Access::read) == "bbb");
}

TEST_CASE(
    "after a failed flush the page cache shows what the disk does not have, and no later flush brings it") {
  std::size_t parted = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimulatedDisk disk({}, seed);
    settle(disk);
    const std::unique_ptr<File> file = file_of(disk, Access::write);
    write(*file, 'b');
    disk.arm({Call::datasync, 1, EIO});
    CHECK(file->datasync().error() == EIO);
    const std::string on_disk = read(disk, Access::read_disk);
    CHECK(read(disk, Access::read) == "bbb");
    CHECK(file->datasync());
    CHECK(read(disk, Access::read_disk) == on_disk);
    disk.end_now(End::power_cut);
    disk.restart();
    CHECK(read(disk, Access::read) == on_disk);
    parted += on_disk != "bbb" ? 1U : 0U;
  }
  CHECK(parted > 100);
}

TEST_CASE("names are certain after the directory's fsync, a rename survives as a whole or not at all") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SimulatedDisk disk({.names_in_order = seed % 2 == 0}, seed);
    settle(disk);
    SimulatedDirectory directory(disk);
    REQUIRE(directory.rename("f", "g", IfThere::refuse));
    REQUIRE(directory.open("h", Access::create));
    disk.end_now(End::power_cut);
    disk.restart();
    std::string names;
    for (const auto& [name, content] : disk.visible_image())
      names += name;
    seen.insert(names);
  }
  CHECK(seen == std::set<std::string>{"f", "g", "fh", "gh"});
}

TEST_CASE("a full disk takes what fits and then nothing") {
  SimulatedDisk disk({.capacity_bytes = 1000}, 1);
  const std::unique_ptr<File> file = file_of(disk, Access::create);
  CHECK(file->write_at(Bytes(1536, 1), 0).value() == 1000);
  CHECK(file->write_at(Bytes(10, 1), 1000).error() == ENOSPC);
  CHECK(file->write_at(Bytes(10, 1), 0).value() == 10);
}

TEST_SUITE_END();

TEST_CASE(
    "a journal that a second creation found is there after a power cut, though the first one was killed") {
  JournalOptions options;
  options.machine = Id128{1};
  // The segment's name is there and on no disk: killed at its rename, or at the fsync behind that.
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (const std::size_t steps : {1, 2}) {
      SimulatedDisk disk({}, seed);
      disk.trace([&](const std::string& call) {
        if (call.rfind("rename spare seg-", 0) == 0) disk.end_after(steps, End::killed);
      });
      (void)SegmentedJournal::create(std::make_unique<SimulatedDirectory>(disk), options);
      REQUIRE(disk.dead());
      disk.trace({});
      disk.restart();
      const Result<> again = SegmentedJournal::create(std::make_unique<SimulatedDirectory>(disk), options);
      REQUIRE((again || again.error().code == errc::exists));
      disk.end_now(End::power_cut);
      disk.restart();
      const auto journal = SegmentedJournal::open(std::make_unique<SimulatedDirectory>(disk), options, {});
      REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    }
  }
}

}  // namespace postern::ledger::sim
