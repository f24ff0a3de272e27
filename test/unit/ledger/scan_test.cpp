// SPDX-License-Identifier: Apache-2.0
#include "ledger/scan.h"

#include <doctest/doctest.h>

#include "ledger/errors.h"
#include "ledger/posix_directory.h"
#include "unit/ledger/scratch_journal.h"
#include "unit/ledger/small_events.h"

TEST_SUITE_BEGIN("journal_durability_tests");

namespace postern::ledger {
namespace {

Result<Scan> scan(const ScratchJournal& scratch, const std::shared_ptr<Recording>& recording,
                  const RecordSink& sink = {}) {
  Result<std::unique_ptr<Directory>> real = PosixDirectory::open(scratch.path());
  REQUIRE(real);
  const RecordingDirectory directory(std::move(*real), recording);
  return scan_journal(directory, sink);
}

Scan scan(const ScratchJournal& scratch) {
  Result<Scan> found = scan(scratch, std::make_shared<Recording>());
  REQUIRE_MESSAGE(found, (found ? "" : found.error().message()));
  return std::move(*found);
}

void fill(ScratchJournal& scratch) {
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  for (const char* event : {"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"})
    REQUIRE((*journal)->append(std::vector<std::string>{event}));
  REQUIRE((*journal)->put_file("auth-1-ab", "x"));
}

}  // namespace

TEST_CASE("looking at a journal writes nothing, takes no lock and works beside a running agent") {
  ScratchJournal scratch;
  fill(scratch);
  const Result<std::unique_ptr<Journal>> running = scratch.open();
  REQUIRE(running);
  const auto before = scratch.contents();
  const auto recording = std::make_shared<Recording>();
  const Result<Scan> found = scan(scratch, recording);
  REQUIRE_MESSAGE(found, (found ? "" : found.error().message()));
  CHECK(found->condition == Condition::clean);
  CHECK(scratch.contents() == before);
  for (const char* call : {"lock", "write", "datasync", "sync", "rename", "unlink"})
    CHECK(recording->count(call) == 0);
}

TEST_CASE("a scan counts what is there, and names what is none of the journal's") {
  ScratchJournal scratch;
  fill(scratch);
  scratch.create("notes.txt", "mine");
  std::vector<std::string> events;
  const Result<Scan> found =
      scan(scratch, std::make_shared<Recording>(), [&](const Record& record) -> Result<> {
        if (record.type == RecordType::event) events.push_back(record.payload);
        return {};
      });
  REQUIRE(found);
  CHECK(events.size() == 3);
  CHECK(found->events == 3);
  CHECK(found->records == 3);
  CHECK(found->head == Lseq(3));
  CHECK(found->proven == Lseq(2));
  CHECK(found->unproven_records == 1);
  CHECK(found->spare);
  CHECK(found->remedy.empty());
  CHECK(!found->first_bad);
  CHECK(found->side_files == std::vector<std::string>{"auth-1-ab"});
  CHECK(found->strays == std::vector<std::string>{"notes.txt"});
  REQUIRE(found->segments.size() == 1);
  CHECK(found->segments[0].header_whole);
  CHECK(found->segments[0].first_lseq == Lseq(1));
  CHECK(found->bytes > 2 * kSegmentBytes);
}

TEST_CASE("a scan says which record is the first bad one, where, and what to do") {
  ScratchJournal scratch;
  fill(scratch);
  scratch.overwrite("seg-1", kFirstBatchOffset + kBlockBytes + record_field::size, "[");
  const Scan found = scan(scratch);
  CHECK(found.condition == Condition::damage);
  CHECK(found.first_bad == Lseq(2));
  CHECK(found.finding.find("seg-1 at byte 12288") != std::string::npos);
  CHECK(found.remedy.find("journal repair --accept-loss-from 2") != std::string::npos);
  CHECK(found.events == 1);
}

TEST_CASE("a scan shows the base in force, what it keeps and what waits to be unlinked") {
  ScratchJournal scratch;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    fill_segment(**journal, "{\"a\":1}");
    REQUIRE(compact(**journal).value().compacted);
  }
  const Scan found = scan(scratch);
  REQUIRE(found.base);
  CHECK(found.base->number == 2);
  CHECK(found.kept_events == 1);
  CHECK(found.bases == std::vector<std::uint64_t>{2});
  REQUIRE(found.segments.size() == 2);
  CHECK(!found.segments[0].live);
  CHECK(found.segments[0].sealed_end);
  CHECK(found.segments[1].live);
  CHECK(!found.segments[1].sealed_end);
}

TEST_CASE("nothing to look at, and a newer format, are errors by name") {
  const ScratchJournal empty(false);
  const Result<Scan> absent = scan(empty, std::make_shared<Recording>());
  REQUIRE(!absent);
  CHECK(absent.error().code == errc::absent);
  ScratchJournal scratch;
  SegmentHeader newer;
  newer.min_reader = kFormatVersion + 1;
  newer.format = kFormatVersion + 1;
  Bytes header(kFirstBatchOffset);
  encode_header(newer, header);
  scratch.overwrite("seg-1", 0, as_text(header));
  const Result<Scan> refused = scan(scratch, std::make_shared<Recording>());
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::newer_format);
}

}  // namespace postern::ledger

TEST_SUITE_END();
