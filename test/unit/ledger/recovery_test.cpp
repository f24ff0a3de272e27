// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "core/bytes.h"
#include "ledger/record.h"
#include "unit/ledger/journal_image.h"
#include "unit/ledger/scratch_journal.h"
#include "unit/ledger/small_events.h"

namespace postern::ledger {
namespace {

const std::vector<std::string> kEvents = {"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"};

// Three events in seg-1, one a block; the last one's flush is unproven.
void fill(ScratchJournal& scratch) {
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  for (const std::string& event : kEvents)
    REQUIRE((*journal)->append(std::vector<std::string>{event}));
}

std::size_t block_of(std::size_t event) {
  return kFirstBatchOffset + event * kBlockBytes;
}

// A batch of which the second sector never reached the disk.
void tear(ScratchJournal& scratch) {
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  const JournalStatus status = (*journal)->status();
  REQUIRE((*journal)->append(std::vector<std::string>{payload_of(2000, 't')}));
  const std::string name = "seg-" + std::to_string(status.segment);
  std::string segment = scratch.read(name, 0, kSegmentBytes);
  const std::size_t start = segment.find("ttttt") / kBlockBytes * kBlockBytes;
  scratch.overwrite(name, start + kSectorBytes, std::string(kSectorBytes, '\0'));
}

}  // namespace

TEST_CASE("an unproven end goes into a new segment, and no existing segment is written") {
  ScratchJournal scratch;
  fill(scratch);
  const auto before = scratch.contents();
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    const RecoveryReport& report = (*journal)->recovery();
    CHECK(report.found == RecoveryClass::clean);
    CHECK(report.head == Lseq(3));
    CHECK(report.first_unproven == Lseq(3));
    CHECK(report.kept_unproven == 1);
    CHECK((*journal)->status().segment == 2);
    CHECK((*journal)->status().head == Lseq(4));  // OPEN
  }
  CHECK(scratch.contents().at("seg-1") == before.at("seg-1"));
  CHECK(scratch.replayed == kEvents);
}

TEST_CASE("a start that finds everything proven writes no new segment") {
  ScratchJournal scratch;
  fill(scratch);
  REQUIRE(scratch.open());
  const auto before = scratch.contents();
  for (int i = 0; i < 3; ++i) {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    CHECK((*journal)->recovery().kept_unproven == 0);
    CHECK((*journal)->recovery().first_unproven == Lseq(5));
  }
  CHECK(scratch.replayed == kEvents);
  CHECK(scratch.contents() == before);
}

TEST_CASE("a torn batch is cut off and counted, and what stood before it is there") {
  ScratchJournal scratch;
  fill(scratch);
  tear(scratch);
  const auto before = scratch.contents();
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
  CHECK((*journal)->recovery().found == RecoveryClass::torn);
  CHECK((*journal)->recovery().torn_records == 1);
  CHECK(scratch.replayed == kEvents);
  CHECK(scratch.contents().at("seg-1") == before.at("seg-1"));
  CHECK(scratch.contents().at("seg-2") == before.at("seg-2"));
  REQUIRE((*journal)->append(std::vector<std::string>{"{\"d\":4}"}));
}

TEST_CASE("what cannot be opened is refused by name, with a remedy, and not a byte changes") {
  ScratchJournal scratch;
  fill(scratch);
  ErrorCode expected = errc::damage;
  SUBCASE("a flipped bit in the header of an acknowledged record") {
    scratch.overwrite("seg-1", block_of(1) + record_field::lseq, "\x07");
  }
  SUBCASE("a flipped bit in the payload of an acknowledged record") {
    scratch.overwrite("seg-1", block_of(1) + record_field::size, "[");
  }
  SUBCASE("both headers bad") {
    scratch.overwrite("seg-1", segment_field::salt, "????");
    scratch.overwrite("seg-1", kBlockBytes + segment_field::salt, "????");
  }
  SUBCASE("a missing segment") {
    REQUIRE(scratch.open());
    std::filesystem::remove(scratch.file("seg-1"));
  }
  SUBCASE("a segment cut short") {
    std::filesystem::resize_file(scratch.file("seg-1"), kSegmentBytes - 512);
  }
  SUBCASE("a segment grown") {
    std::filesystem::resize_file(scratch.file("seg-1"), std::uintmax_t{10} << 30);
  }
  SUBCASE("an empty segment") {
    std::filesystem::resize_file(scratch.file("seg-1"), 0);
  }
  SUBCASE("a segment of a number beyond all others") {
    std::filesystem::copy_file(scratch.file("seg-1"), scratch.file("seg-18446744073709551615"));
  }
  SUBCASE("a base of no use, of 10 GB") {
    scratch.create("base-1", "");
    std::filesystem::resize_file(scratch.file("base-1"), std::uintmax_t{10} << 30);
    scratch.overwrite("seg-1", block_of(1) + record_field::lseq, "\x07");
  }
  SUBCASE("a strange base name") {
    std::filesystem::copy_file(scratch.file("seg-1"), scratch.file("base-x"));
  }
  SUBCASE("a strange name") {
    std::filesystem::copy_file(scratch.file("seg-1"), scratch.file("seg-01"));
  }
  SUBCASE("another machine") {
    scratch.options.machine = Id128{2};
    expected = errc::foreign_machine;
  }
  SUBCASE("a second writer behind a sealed end") {
    const std::string seg1 = scratch.read("seg-1", 0, kSegmentBytes);
    REQUIRE(scratch.open());
    // What a writer that did not see the seal would have put at its end of seg-1.
    Bytes batch;
    const auto hash = [&](std::size_t event, Lseq lseq, const Hash256& prev) {
      return chain_hash(lseq, RecordType::event, prev, kEvents[event]);
    };
    ChainHead chain{Lseq(4), hash(2, Lseq(3), hash(1, Lseq(2), hash(0, Lseq(1), {})))};
    append_record(batch, chain, Lseq(3), RecordType::event, true, "{\"w\":1}",
                  load_le<std::uint64_t>(as_bytes(seg1), segment_field::salt));
    scratch.overwrite("seg-1", block_of(3), as_text(batch));
    expected = errc::fork;
  }
  const auto before = scratch.contents();
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(!journal);
  CHECK_MESSAGE(journal.error().code == expected, journal.error().message());
  const std::string& words = journal.error().context;
  CHECK_MESSAGE(words.find("nothing was changed") != std::string::npos, words);
  const bool says_what_to_do = words.find("`postern journal ") != std::string::npos ||
                               words.find("find out who put it there") != std::string::npos ||
                               words.find("find the second writer and stop it") != std::string::npos;
  CHECK_MESSAGE(says_what_to_do, words);
  CHECK(scratch.contents() == before);
}

TEST_CASE("a bad end that may have been acknowledged opens as suspect, and says so until it is settled") {
  ScratchJournal scratch;
  fill(scratch);
  scratch.overwrite("seg-1", block_of(2) + record_field::size, "[");
  const auto before = scratch.contents();
  for (int start = 0; start < 3; ++start) {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    const RecoveryReport& report = (*journal)->recovery();
    CHECK(report.found == (start == 0 ? RecoveryClass::suspect : RecoveryClass::clean));
    CHECK(report.needs_sync_round);
    CHECK(report.claims_wait);
    CHECK(report.reserves_spent);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].condition == "suspect");
    CHECK(report.findings[0].first_unproven == Lseq(3));
    CHECK(scratch.replayed == std::vector<std::string>{kEvents[0], kEvents[1]});
  }
  CHECK(scratch.contents().at("seg-1") == before.at("seg-1"));
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    REQUIRE((*journal)->settle((*journal)->recovery().findings[0].lseq, SettledBy::sync_round));
    CHECK(!(*journal)->status().needs_sync_round);
    REQUIRE((*journal)->close());
  }
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  CHECK((*journal)->recovery().findings.empty());
  CHECK(!(*journal)->recovery().needs_sync_round);
  CHECK(!(*journal)->recovery().reserves_spent);
}

TEST_CASE("what an operator gives up lets spend for good, and claims go on waiting until a round is done") {
  ScratchJournal scratch;
  fill(scratch);
  scratch.overwrite("seg-1", block_of(2) + record_field::size, "[");
  const auto expect = [&scratch](bool needs_round, bool claims_wait) {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    CHECK((*journal)->recovery().needs_sync_round == needs_round);
    CHECK((*journal)->recovery().claims_wait == claims_wait);
  };
  expect(true, true);
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    REQUIRE((*journal)->settle((*journal)->status().head, SettledBy::an_operator));
    CHECK(!(*journal)->status().needs_sync_round);
  }
  expect(false, true);
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    REQUIRE((*journal)->recovery().findings.size() == 1);
    CHECK((*journal)->recovery().findings[0].given_up);
    fill_segment(**journal, "{\"n\":1}");  // the operator's word lies in a sealed segment now
    REQUIRE(compact(**journal).value().compacted);
  }
  expect(false, true);  // a base carries it on
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    REQUIRE((*journal)->settle((*journal)->status().head, SettledBy::sync_round));
  }
  expect(false, false);
}

TEST_CASE("a record out of the chain is suspect once, and no fork at the next start") {
  ScratchJournal scratch;
  fill(scratch);
  const std::string seg1 = scratch.read("seg-1", 0, kSegmentBytes);
  Bytes batch;
  ChainHead chain{Lseq(4), Hash256{1}};
  append_record(batch, chain, Lseq(3), RecordType::event, true, "{\"w\":1}",
                load_le<std::uint64_t>(as_bytes(seg1), segment_field::salt));
  scratch.overwrite("seg-1", block_of(3), as_text(batch));
  for (int start = 0; start < 2; ++start) {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    CHECK((*journal)->recovery().needs_sync_round);
    CHECK(scratch.replayed == kEvents);
  }
}

TEST_CASE("a directory full of other files, and a file beside of any size, do not get in the way") {
  ScratchJournal scratch;
  fill(scratch);
  constexpr int kStrays = 100'000;
  for (int i = 0; i < kStrays; ++i)
    std::ofstream(scratch.file("stray-" + std::to_string(i)));
  scratch.create("auth-1-ab", "");
  std::filesystem::resize_file(scratch.file("auth-1-ab"), std::uintmax_t{10} << 30);
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  CHECK(scratch.replayed == kEvents);
  CHECK((*journal)->get_file("auth-1-ab", 1U << 20).error().code == errc::io);
}

TEST_CASE("a disk that cannot be read is refused, not taken for the end of the journal") {
  ScratchJournal scratch;
  fill(scratch);
  const auto recording = std::make_shared<Recording>();
  recording->fault = [](const std::string& call) { return call == "read seg-1" ? EIO : 0; };
  const auto before = scratch.contents();
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(!journal);
  CHECK(journal.error().code == errc::io);
  CHECK(scratch.contents() == before);
}

TEST_CASE("a recovery that fails at any call is done again by the next start, with the same records") {
  ScratchJournal torn;
  fill(torn);
  tear(torn);
  const auto copy_of_torn = [&torn](const ScratchJournal& to) {
    std::filesystem::copy(torn.path(), to.path(), std::filesystem::copy_options::recursive);
  };
  const auto whole = std::make_shared<Recording>();
  {
    ScratchJournal scratch(false);
    copy_of_torn(scratch);
    REQUIRE(scratch.open(whole));
  }
  const std::size_t first = whole->index_of("open spare");  // before it nothing is written
  const std::size_t last = whole->index_of("rename spare.tmp spare");
  REQUIRE(first < last);
  REQUIRE(last < whole->calls.size());
  for (std::size_t at = first; at <= last + 1; ++at) {
    CAPTURE(whole->calls[at]);
    ScratchJournal scratch(false);
    copy_of_torn(scratch);
    const auto recording = std::make_shared<Recording>();
    recording->fault = [&recording, at](const std::string&) {
      return recording->calls.size() == at + 1 ? EIO : 0;
    };
    const bool unlinking =
        whole->calls[at].starts_with("unlink ");  // of what is not there: its failure is no failure
    CHECK(scratch.open(recording).has_value() == unlinking);
    CHECK(recording->calls.at(at) == whole->calls[at]);
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    CHECK(scratch.replayed == kEvents);
    REQUIRE((*journal)->append(std::vector<std::string>{"{\"d\":4}"}));
  }
}

TEST_CASE("nothing is replayed before what recovery kept is durable under its new name") {
  ScratchJournal scratch;
  fill(scratch);
  const auto recording = std::make_shared<Recording>();
  recording->fault = [](const std::string& call) { return call == "rename spare seg-2" ? EIO : 0; };
  CHECK(!scratch.open(recording));
  CHECK(scratch.replayed.empty());
  REQUIRE(scratch.open(std::make_shared<Recording>()));
  CHECK(scratch.replayed == kEvents);
}

TEST_CASE("names are on the disk before a start believes them") {
  ScratchJournal scratch;
  fill(scratch);
  const auto recording = std::make_shared<Recording>();
  REQUIRE(scratch.open(recording));
  const std::size_t listed = recording->index_of("list");
  REQUIRE(listed < recording->calls.size());
  CHECK(recording->index_of("sync") < listed);
  CHECK(recording->index_of("lock") < recording->index_of("sync"));
}

TEST_CASE("sealed segments are read once by a start, and what they hold is replayed once") {
  ScratchJournal scratch;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    fill_segment(**journal, kEvents[0]);
    fill_segment(**journal, kEvents[1]);
    REQUIRE((*journal)->append(std::vector<std::string>{kEvents[2]}));
  }
  std::vector<std::string> read;
  const auto recording = std::make_shared<Recording>();
  recording->read_fault = [&read](const std::string& name, std::uint64_t, std::size_t bytes) {
    if (bytes == kSegmentBytes) read.push_back(name);
    return 0;
  };
  REQUIRE(scratch.open(recording));
  CHECK(std::count(read.begin(), read.end(), "seg-1") == 1);
  CHECK(std::count(read.begin(), read.end(), "seg-2") == 1);
  CHECK(small_ones(scratch.replayed) == std::vector<std::string>{kEvents[0], kEvents[1], kEvents[2]});
}

TEST_CASE("recovery works on a full disk, from the spare") {
  ScratchJournal scratch;
  fill(scratch);
  const auto recording = std::make_shared<Recording>();
  recording->fault = [](const std::string& call) { return call == "open spare.tmp" ? ENOSPC : 0; };
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  CHECK(scratch.replayed == kEvents);
  CHECK((*journal)->append(std::vector<std::string>{"{\"d\":4}"}).error().code == errc::disk_full);
}

TEST_CASE("what the page cache shows and the disk refused is not journaled over") {
  ScratchJournal scratch;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    REQUIRE((*journal)->append(std::vector<std::string>{"{\"lost\":1}"}));
  }
  const auto recording = std::make_shared<Recording>();
  recording->disk_view = [](const std::string& name, std::span<std::uint8_t> bytes, std::uint64_t offset) {
    if (name != "seg-1") return;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (offset + i >= kFirstBatchOffset) bytes[i] = 0;
    }
  };
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  CHECK(scratch.replayed.empty());
  CHECK((*journal)->status().segment == 2);
  CHECK((*journal)->append(std::vector<std::string>{"{\"a\":1}"}));
}

TEST_CASE("a stray temporary is ignored and a dirty spare is cleaned by use") {
  ScratchJournal scratch;
  fill(scratch);
  scratch.overwrite("spare", kFirstBatchOffset + 4096, std::string(9000, 'z'));
  std::filesystem::copy_file(scratch.file("LOCK"), scratch.file("spare.tmp"));
  std::filesystem::copy_file(scratch.file("LOCK"), scratch.file("auth-9-aa.tmp"));
  for (int i = 0; i < 2; ++i) {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    CHECK((*journal)->append(std::vector<std::string>{"{\"d\":4}"}));
  }
}

TEST_CASE("a replay that fails fails the opening with its own error") {
  ScratchJournal scratch;
  fill(scratch);
  const Result<std::unique_ptr<Journal>> journal = Journal::open(
      scratch.options, [](const Record&) -> Result<> { return fail(errc::event_signature, "not ours"); });
  REQUIRE(!journal);
  CHECK(journal.error().code == errc::event_signature);
}

}  // namespace postern::ledger
