// SPDX-License-Identifier: Apache-2.0
#include "ledger/repair.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <set>

#include "ledger/errors.h"
#include "ledger/posix_directory.h"
#include "ledger/scan.h"
#include "unit/ledger/scratch_journal.h"
#include "unit/ledger/small_events.h"

TEST_SUITE_BEGIN("journal_durability_tests");

namespace postern::ledger {
namespace {

std::string event(int n) {
  return "{\"n\":" + std::to_string(n) + "}";
}

// Six events, each a batch of its own: lseq n+1 stands in block n.
void fill(ScratchJournal& scratch) {
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  for (int n = 0; n < 6; ++n)
    REQUIRE((*journal)->append(std::vector<std::string>{event(n)}));
}

void spoil(const ScratchJournal& scratch, std::size_t block, const std::string& segment = "seg-1") {
  scratch.overwrite(segment, kFirstBatchOffset + block * kBlockBytes + record_field::size, "[");
}

Result<RepairReport> repair(ScratchJournal& scratch, std::uint64_t from, std::uint64_t known_head = 0,
                            const std::shared_ptr<Recording>& recording = std::make_shared<Recording>()) {
  Result<std::unique_ptr<Directory>> real = PosixDirectory::open(scratch.path());
  REQUIRE(real);
  RecordingDirectory directory(std::move(*real), recording);
  KeepSmall summary;
  return repair_journal(directory, scratch.options, {node_key(), summary, 1, Lseq(from), Lseq(known_head)});
}

Scan scan(const ScratchJournal& scratch) {
  const Result<std::unique_ptr<Directory>> directory = PosixDirectory::open(scratch.path());
  REQUIRE(directory);
  Result<Scan> found = scan_journal(**directory, {});
  REQUIRE_MESSAGE(found, (found ? "" : found.error().message()));
  return std::move(*found);
}

}  // namespace

TEST_CASE("damage is repaired by a base that names the gap and keeps what stands behind it") {
  ScratchJournal scratch;
  fill(scratch);
  spoil(scratch, 2);
  CHECK(scan(scratch).first_bad == Lseq(3));
  const auto before = scratch.contents();
  const Result<RepairReport> report = repair(scratch, 3);
  REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
  CHECK(report->gaps == std::vector<Gap>{{Lseq(3), Lseq(3), true}});
  CHECK(report->rescued == 3);
  CHECK(scratch.contents().at("seg-1") == before.at("seg-1"));  // evidence stays

  Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
  CHECK(scratch.replayed == std::vector<std::string>{event(0), event(1), event(3), event(4), event(5)});
  CHECK((*journal)->recovery().needs_sync_round);
  CHECK((*journal)->recovery().reserves_spent);
  CHECK((*journal)->recovery().gaps == report->gaps);
  CHECK((*journal)->status().gap_open);

  // While the gap is open nothing is compacted; settled, it is only history.
  fill_segment(**journal, event(6));
  REQUIRE((*journal)->append(std::vector<std::string>{event(7)}));
  CHECK(compact(**journal).error().code == errc::gap_open);
  REQUIRE((*journal)->settle((*journal)->status().head, SettledBy::sync_round));
  CHECK(!(*journal)->status().gap_open);
  CHECK(!(*journal)->status().needs_sync_round);
  journal->reset();
  journal = scratch.open();
  REQUIRE(journal);
  CHECK(!(*journal)->recovery().needs_sync_round);
  fill_segment(**journal, event(8));
  REQUIRE((*journal)->append(std::vector<std::string>{event(9)}));
  const Result<CompactionReport> compacted = compact(**journal);
  REQUIRE_MESSAGE(compacted, (compacted ? "" : compacted.error().message()));
  const Scan after = scan(scratch);
  CHECK(after.condition == Condition::clean);
  REQUIRE(after.gaps.size() == 1);
  CHECK(!after.gaps[0].open);
}

TEST_CASE("the gap reaches as far as anybody knows that records were acknowledged") {
  ScratchJournal scratch;
  fill(scratch);
  spoil(scratch, 2);
  const Result<RepairReport> report = repair(scratch, 3, 9);
  REQUIRE(report);
  CHECK(report->gaps == std::vector<Gap>{{Lseq(3), Lseq(3), true}, {Lseq(7), Lseq(9), true}});
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  CHECK((*journal)->status().head == Lseq(10));  // OPEN: no number is used twice
}

TEST_CASE("only the loss that the scan names is accepted, and a journal that opens is not repaired") {
  ScratchJournal scratch;
  fill(scratch);
  CHECK(repair(scratch, 3).error().code == errc::nothing_to_repair);
  spoil(scratch, 2);
  const auto before = scratch.contents();
  for (const std::uint64_t wrong : {0, 2, 4}) {
    const Result<RepairReport> refused = repair(scratch, wrong);
    REQUIRE(!refused);
    CHECK(refused.error().code == errc::wrong_loss);
    CHECK(refused.error().context.find("first lost record is 3") != std::string::npos);
  }
  CHECK(scratch.contents() == before);
}

TEST_CASE("a lost segment is repaired too, whichever it is") {
  ScratchJournal scratch;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    for (int n = 0; n < 3; ++n)
      fill_segment(**journal, event(n));
  }
  const Scan whole = scan(scratch);
  std::string lost;
  SUBCASE("first") {
    lost = "seg-1";
  }
  SUBCASE("middle") {
    lost = "seg-2";
  }
  SUBCASE("both headers of one") {
    scratch.overwrite("seg-3", 20, "????");
    scratch.overwrite("seg-3", kBlockBytes + 20, "????");
  }
  if (!lost.empty()) std::filesystem::remove(scratch.file(lost));
  const Scan damaged = scan(scratch);
  REQUIRE(damaged.condition == Condition::damage);
  const Result<RepairReport> report = repair(scratch, damaged.first_bad->value, whole.head.value);
  REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
  REQUIRE(!report->gaps.empty());
  CHECK(report->gaps.front().first == *damaged.first_bad);
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
  CHECK(scratch.replayed.size() == 2);
  CHECK((*journal)->status().head > whole.head);
}

TEST_CASE("a fork is not repaired") {
  ScratchJournal scratch;
  fill(scratch);
  ScratchJournal twin(false);
  std::filesystem::copy(scratch.path(), twin.path(), std::filesystem::copy_options::recursive);
  REQUIRE(scratch.open());  // seals seg-1 and goes on in seg-2
  {
    const auto silent = std::make_shared<Recording>();
    Result<std::unique_ptr<Journal>> other = twin.open(silent);  // the twin does so too, then writes on
    REQUIRE(other);
  }
  // What a writer that never saw the seal would have left behind it.
  const std::string seg1 = scratch.read("seg-1", 0, kSegmentBytes);
  const auto salt = load_le<std::uint64_t>(as_bytes(seg1), segment_field::salt);
  Bytes batch;
  ChainHead chain{Lseq(7), Hash256{1}};
  append_record(batch, chain, Lseq(6), RecordType::event, true, "{\"w\":1}", salt);
  scratch.overwrite("seg-1", kFirstBatchOffset + 6 * kBlockBytes, as_text(batch));
  CHECK(scan(scratch).condition == Condition::fork);
  const Result<RepairReport> refused = repair(scratch, 7);
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::fork);
}

TEST_CASE("what the disk cannot read is refused with the way out, and can be given up") {
  ScratchJournal scratch;
  fill(scratch);
  const auto recording = std::make_shared<Recording>();
  bool broken = true;
  // Block 3 of the batches cannot be read, alone or among others.
  recording->read_fault = [&broken](const std::string& name, std::uint64_t offset, std::size_t bytes) {
    const std::uint64_t bad = kFirstBatchOffset + 3 * kBlockBytes;
    return broken && name == "seg-1" && offset <= bad && bad < offset + bytes ? EIO : 0;
  };
  const auto before = scratch.contents();
  const Result<std::unique_ptr<Journal>> refused = scratch.open(recording);
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::io);
  CHECK(refused.error().context.find("journal repair --accept-loss-from 4") != std::string::npos);
  CHECK(scratch.contents() == before);
  SUBCASE("on a better day it is all there") {
    broken = false;
    REQUIRE(scratch.open(recording));
    CHECK(scratch.replayed.size() == 6);
  }
  SUBCASE("given up") {
    const Result<RepairReport> report = repair(scratch, 4, 0, recording);
    REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
    CHECK(report->gaps == std::vector<Gap>{{Lseq(4), Lseq(4), true}});
    REQUIRE(scratch.open(recording));
    CHECK(scratch.replayed.size() == 5);
  }
}

TEST_CASE("a last record that the disk cannot read is refused, not cut off") {
  ScratchJournal scratch;
  fill(scratch);
  const auto recording = std::make_shared<Recording>();
  recording->read_fault = [](const std::string& name, std::uint64_t offset, std::size_t bytes) {
    const std::uint64_t bad = kFirstBatchOffset + 5 * kBlockBytes;
    return name == "seg-1" && offset <= bad && bad < offset + bytes ? EIO : 0;
  };
  const auto before = scratch.contents();
  const Result<std::unique_ptr<Journal>> refused = scratch.open(recording);
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::io);
  CHECK(scratch.contents() == before);
  // Whether it was acknowledged nobody knows: given up, it is a gap.
  const Result<RepairReport> report = repair(scratch, 6, 0, recording);
  REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
  CHECK(report->gaps == std::vector<Gap>{{Lseq(6), Lseq(6), true}});
}

TEST_CASE("a repair that fails at any call is done again, and comes to the same events") {
  ScratchJournal original;
  fill(original);
  spoil(original, 2);
  const auto copy_to = [&original](const ScratchJournal& to) {
    std::filesystem::copy(original.path(), to.path(), std::filesystem::copy_options::recursive);
  };
  std::vector<std::string> calls;
  {
    ScratchJournal whole(false);
    copy_to(whole);
    const auto recording = std::make_shared<Recording>();
    REQUIRE(repair(whole, 3, 0, recording));
    calls = recording->calls;
  }
  std::set<std::string> seen;
  for (std::size_t at = 0; at < calls.size(); ++at) {
    const bool looks = calls[at].starts_with("read ") || calls[at].starts_with("exists ");
    if (looks && !seen.insert(calls[at]).second) continue;
    CAPTURE(calls[at]);
    ScratchJournal scratch(false);
    copy_to(scratch);
    const auto recording = std::make_shared<Recording>();
    recording->fault = [&](const std::string&) { return recording->calls.size() > at ? EIO : 0; };
    if (const Result<RepairReport> report = repair(scratch, 3, 0, recording); report) continue;
    if (const Scan left = scan(scratch); left.condition == Condition::damage) {
      CHECK(left.first_bad == Lseq(3));
      const Result<RepairReport> again = repair(scratch, 3);
      REQUIRE_MESSAGE(again, (again ? "" : again.error().message()));
    }
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    CHECK(scratch.replayed.size() == 5);
    CHECK((*journal)->status().gap_open);
  }
}

TEST_CASE("an event behind the damage whose signature is wrong is not rescued, and stays in the gap") {
  const wire::SecretKey key = wire::SecretKey::generate();
  Event signed_event;
  signed_event.mesh = "m";
  signed_event.seq = Seq(1);
  signed_event.lamport = Lamport(1);
  signed_event.key = key.public_key();
  signed_event.kind = "Other";
  signed_event.body = wire::Json::object();
  const std::string good = seal_event(signed_event, key);
  std::string forged = good;
  forged.replace(forged.find("Other"), 5, "Ether");
  ScratchJournal scratch;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    for (const std::string& payload : {good, good, forged, good})
      REQUIRE((*journal)->append(std::vector<std::string>{payload}));
  }
  scratch.overwrite("seg-1", kFirstBatchOffset + kBlockBytes + record_field::size, "[");
  EventSummary summary({}, node_key().public_key());
  const Result<RepairReport> report =
      repair_journal(scratch.options, {node_key(), summary, 1, Lseq(2), Lseq()});
  REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
  CHECK(report->rescued == 1);
  CHECK(report->gaps == std::vector<Gap>{{Lseq(2), Lseq(3), true}});
}

}  // namespace postern::ledger

TEST_SUITE_END();
