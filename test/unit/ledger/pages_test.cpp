// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>

#include "ledger/errors.h"
#include "unit/ledger/scratch_journal.h"
#include "unit/ledger/small_events.h"

TEST_SUITE_BEGIN("journal_durability_tests");

namespace postern::ledger {
namespace {

std::string event(int n) {
  return "{\"n\":" + std::to_string(n) + "}";
}

void append(Journal& journal, int first, int last) {
  for (int n = first; n <= last; ++n)
    REQUIRE(journal.append(std::vector<std::string>{event(n)}));
}

Page page(Journal& journal, const Cursor& from, std::size_t events = 1000) {
  Result<Page> read = journal.read_page(from, {events, 1U << 20});
  REQUIRE_MESSAGE(read, (read ? "" : read.error().message()));
  return std::move(*read);
}

// All small events from `cursor` on, page by page; `cursor` ends behind them.
std::vector<std::string> follow(Journal& journal, Cursor& cursor, std::size_t events = 3) {
  std::vector<std::string> out;
  while (true) {
    const Page read = page(journal, cursor, events);
    for (const Record& record : read.events)
      if (record.payload.size() < KeepSmall::kSmallBytes) out.push_back(record.payload);
    cursor = read.next;
    if (read.at_end) return out;
  }
}

std::vector<std::string> events(int first, int last) {
  std::vector<std::string> out;
  for (int n = first; n <= last; ++n)
    out.push_back(event(n));
  return out;
}

}  // namespace

TEST_CASE("pages give each event once, across segments and restarts, and then say that this was the end") {
  ScratchJournal scratch;
  Cursor cursor;
  for (int start = 0; start < 3; ++start) {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    append(**journal, 10 * start, 10 * start + 4);
    if (start == 1) fill_segment(**journal, event(15));
    if (start != 1) append(**journal, 10 * start + 5, 10 * start + 5);
    CHECK(follow(**journal, cursor) == events(10 * start, 10 * start + 5));
    CHECK(page(**journal, cursor).events.empty());
    CHECK(page(**journal, cursor).at_end);
    CHECK(cursor.next == (*journal)->status().head.next());
  }
}

TEST_CASE("an event that is written but not flushed is in no page") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  append(**journal, 0, 1);
  std::size_t seen = 0;
  recording->fault = [&](const std::string& call) {
    if (call != "datasync seg-1") return 0;
    seen = page(**journal, {}).events.size();
    return EIO;
  };
  CHECK(!(*journal)->append(std::vector<std::string>{event(2)}));
  CHECK(seen == 2);
  CHECK(page(**journal, {}).events.size() == 2);
}

TEST_CASE("a page keeps its limits, and gives one event whatever they are") {
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  for (int i = 0; i < 5; ++i)
    REQUIRE((*journal)->append(std::vector<std::string>{payload_of(1000)}));
  CHECK((*journal)->read_page({}, {100, 3500}).value().events.size() == 3);
  CHECK((*journal)->read_page({}, {2, 1U << 20}).value().events.size() == 2);
  const Page one = (*journal)->read_page({}, {100, 10}).value();
  CHECK(one.events.size() == 1);
  CHECK(!one.at_end);
}

TEST_CASE("the hash of a record in a page is the chain's") {
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  append(**journal, 0, 3);
  CHECK(page(**journal, {}).events.back().hash == (*journal)->status().head_hash);
}

TEST_CASE("a cursor of another journal, or from beyond the head, starts again and says so") {
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  append(**journal, 0, 2);
  Cursor cursor = page(**journal, {}).next;
  CHECK(!page(**journal, cursor).reset);
  SUBCASE("another journal") {
    cursor.journal.fill(9);
  }
  SUBCASE("beyond the head") {
    cursor.next = Lseq(100);
  }
  const Page read = page(**journal, cursor);
  CHECK(read.reset);
  CHECK(read.events.size() == 3);
  CHECK(read.next.journal == (*journal)->status().journal);
}

TEST_CASE(
    "a reader of records that were lost does not miss those that have their numbers now: he starts again") {
  ScratchJournal scratch;
  Cursor cursor;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    append(**journal, 0, 3);
    cursor = page(**journal, {}).next;
    CHECK(cursor.hash == (*journal)->status().head_hash);
  }
  SUBCASE("of the last one, bad and suspect") {
    scratch.overwrite("seg-1", kFirstBatchOffset + 3 * kBlockBytes + record_field::size, "[");
  }
  SUBCASE("of the last ones, when an old copy of the disk was put back") {
    // As it was when two events stood in it.
    scratch.overwrite("seg-1", kFirstBatchOffset + 2 * kBlockBytes, std::string(2 * kBlockBytes, '\0'));
  }
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
  const std::size_t left = scratch.replayed.size();
  // Up to the number where the reader was: at its head, behind it, and far behind it.
  for (int n = 10; n < 14; ++n) {
    append(**journal, n, n);
    const Page read = page(**journal, cursor);
    CHECK(read.reset);
    REQUIRE(read.events.size() == left + static_cast<std::size_t>(n) - 9);
    CHECK(read.events.back().payload == event(n));
    CHECK(!page(**journal, read.next).reset);
  }
}

TEST_CASE(
    "a cursor whose place was compacted away is followed where it can be compared, and starts again else") {
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  append(**journal, 0, 1);
  const Cursor kept = page(**journal, {}, 1).next;
  Cursor gone = kept;
  fill_segment(**journal, event(2));
  while (page(**journal, gone, 1).events.front().payload.size() < KeepSmall::kSmallBytes)
    gone = page(**journal, gone, 1).next;
  gone = page(**journal, gone, 1).next;  // behind a large one
  for (int round = 0; round < 2; ++round) {
    REQUIRE(compact(**journal).value().compacted);
    fill_segment(**journal, event(3 + round));
  }
  REQUIRE(compact(**journal).value().compacted);
  const Page followed = page(**journal, kept, 1);
  CHECK(!followed.reset);
  CHECK(followed.events.front().payload == event(1));
  const Page again = page(**journal, gone, 1);
  CHECK(again.reset);
  CHECK(again.events.front().payload == event(0));
  Cursor other = kept;
  other.hash.fill(9);
  CHECK(page(**journal, other, 1).reset);
}

TEST_CASE("a reader that is behind when its segments are compacted still sees every event once") {
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  append(**journal, 0, 5);
  fill_segment(**journal, event(6));
  append(**journal, 7, 9);
  Cursor cursor;
  std::vector<std::string> read;
  const Page first = page(**journal, cursor, 4);
  for (const Record& record : first.events)
    read.push_back(record.payload);
  cursor = first.next;
  REQUIRE(compact(**journal).value().compacted);  // in the middle of it
  for (const std::string& payload : follow(**journal, cursor))
    read.push_back(payload);
  CHECK(read == events(0, 9));
}

TEST_CASE("a reader two compactions behind is told what is gone, and gets what is kept of it") {
  ScratchJournal scratch;
  Cursor cursor;
  std::vector<std::string> read;
  Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  append(**journal, 0, 3);
  for (const Record& record : page(**journal, {}, 2).events)
    read.push_back(record.payload);
  cursor = page(**journal, {}, 2).next;
  for (int round = 0; round < 2; ++round) {
    fill_segment(**journal, event(4 + 2 * round));
    append(**journal, 5 + 2 * round, 5 + 2 * round);
    REQUIRE(compact(**journal).value().compacted);
  }
  SUBCASE("in the same life") {}
  SUBCASE("after a restart") {
    journal->reset();
    journal = scratch.open();
    REQUIRE(journal);
  }
  const Page next = page(**journal, cursor, 1);
  REQUIRE(next.missing.size() == 1);
  CHECK(next.missing[0].first == cursor.next);
  for (const std::string& payload : follow(**journal, cursor, 1))
    read.push_back(payload);
  CHECK(read == events(0, 7));
}

TEST_CASE("a segment that is unlinked between two looks is not an error") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  append(**journal, 0, 1);
  fill_segment(**journal, event(2));
  append(**journal, 3, 3);
  REQUIRE(compact(**journal).value().compacted);
  fill_segment(**journal, event(4));
  append(**journal, 5, 5);
  bool once = true;
  recording->fault = [&](const std::string& call) {
    if (call == "open seg-1" && std::exchange(once, false)) REQUIRE(compact(**journal).value().compacted);
    return 0;
  };
  Cursor cursor;
  CHECK(follow(**journal, cursor) == events(0, 5));
  CHECK(!once);
}

}  // namespace postern::ledger

TEST_SUITE_END();
