// SPDX-License-Identifier: Apache-2.0
#include "ledger/import.h"

#include <doctest/doctest.h>

#include "ledger/export.h"
#include "ledger/posix_directory.h"
#include "ledger/scan.h"
#include "ledger/stream.h"
#include "ledger/summary.h"
#include "unit/ledger/scratch_journal.h"

namespace postern::ledger {
namespace {

const SystemClock kClock;

// A journal of real events of one node, and what became of it.
struct Archived {
  wire::SecretKey key = wire::SecretKey::generate();
  ScratchJournal scratch;
  std::vector<Event> events;

  // Goes on with the stream by `count` events.
  void write(int count) {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    StreamHistory history(key.public_key());
    Lseq lseq;
    for (const std::string& payload : scratch.replayed) {
      lseq = lseq.next();
      const Result<Event> event = open_event(payload);
      REQUIRE(event);
      REQUIRE(history.add(*event,
                          {lseq, RecordType::event, {}, payload, (*journal)->recovery().base != nullptr}));
    }
    REQUIRE(history.finish((*journal)->recovery().base.get()));
    Result<Stream> stream = Stream::open(**journal, key, kClock, "blue", history, {true, false, false});
    REQUIRE(stream);
    for (int i = 0; i < count; ++i) {
      const std::vector<Draft> draft = {{"FenceRaised", wire::Json::object({{"n", i}})}};
      REQUIRE(stream->write(draft));
    }
    REQUIRE((*journal)->put_file("auth-1-aa", "a snapshot"));
    REQUIRE((*journal)->close());
  }

  void compact() {
    scratch.options.before_change = [](const JournalEnd&) -> Result<Resumption> {
      return Resumption::went_back;  // seals the segment
    };
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    scratch.options.before_change = nullptr;
    EventSummary summary({}, key.public_key());
    const Result<CompactionReport> report = (*journal)->compact({key, summary, 1});
    REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
    REQUIRE(report->compacted);
  }

  std::string archive() const {
    std::string text;
    const Result<std::unique_ptr<Directory>> directory = PosixDirectory::open(scratch.path());
    REQUIRE(directory);
    const Result<ArchiveTotals> totals =
        export_journal(**directory, {key, "blue", 5}, [&text](std::string_view line) -> Result<> {
          text += line;
          return {};
        });
    REQUIRE_MESSAGE(totals, (totals ? "" : totals.error().message()));
    return text;
  }
};

struct Target {
  ScratchJournal scratch{false};
  JournalOptions options = scratch.options;

  Target() { options.directory = scratch.path() / "journal"; }

  Result<ImportReport> import(const Archived& origin, const std::string& archive,
                              const std::string& mesh = "blue") {
    std::size_t at = 0;
    return import_journal(options, {origin.key, kClock, mesh}, [&archive, &at]() -> Result<std::string> {
      const std::size_t end = archive.find('\n', at);
      std::string line = archive.substr(at, end == std::string::npos ? end : end + 1 - at);
      at += line.size();
      return line;
    });
  }

  std::vector<Event> events() const {
    std::vector<Event> out;
    const Result<std::unique_ptr<Directory>> directory = PosixDirectory::open(options.directory);
    REQUIRE(directory);
    const Result<Scan> scan = scan_journal(**directory, [&out](const Record& record) -> Result<> {
      if (record.type == RecordType::event) out.push_back(*open_event(record.payload));
      return {};
    });
    REQUIRE(scan);
    CHECK(scan->condition == Condition::clean);
    CHECK(scan->strays.empty());
    return out;
  }

  bool is_empty() const {
    return std::filesystem::directory_iterator(scratch.path()) == std::filesystem::directory_iterator();
  }
};

}  // namespace

TEST_CASE("an imported journal has all events and files, an id of its own, and opens a new stream") {
  Archived origin;
  origin.write(5);
  Target target;
  const Result<ImportReport> report = target.import(origin, origin.archive());
  REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
  CHECK(report->journal != report->from.journal);
  const std::vector<Event> events = target.events();
  REQUIRE(events.size() == 7);
  CHECK(events[5].seq == Seq(6));
  CHECK(events[6].kind == "StreamOpened");
  CHECK(events[6].stream == report->stream);
  CHECK(events[6].stream != events[5].stream);
  CHECK(*events[6].body.find("predecessor")->as_string() == to_hex(events[5].stream));
  const Result<std::unique_ptr<Journal>> journal = Journal::open(target.options, {});
  REQUIRE(journal);
  CHECK(*(*journal)->get_file("auth-1-aa", 100) == "a snapshot");
}

TEST_CASE("a compacted journal is imported with its base") {
  Archived origin;
  origin.write(4);
  origin.compact();
  origin.write(2);
  Target target;
  const Result<ImportReport> report = target.import(origin, origin.archive());
  REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
  const std::vector<Event> events = target.events();
  REQUIRE(events.size() == 8);
  CHECK(events[6].seq == Seq(7));
  CHECK(events[7].body.find("last_seq")->as_integer() != nullptr);
  CHECK(*events[7].body.find("last_seq")->as_integer() == 7);
  const Result<std::unique_ptr<Journal>> journal = Journal::open(target.options, {});
  REQUIRE(journal);
  REQUIRE((*journal)->recovery().base != nullptr);
  CHECK((*journal)->recovery().base->journal == report->journal);
}

TEST_CASE("what cannot be imported leaves nothing behind") {
  Archived origin;
  origin.write(3);
  const std::string whole = origin.archive();
  Target target;
  CHECK(!target.import(origin, whole.substr(0, whole.size() - 1)));
  CHECK(target.is_empty());
  CHECK(target.import(origin, whole, "green").error().code == errc::foreign_archive);
  CHECK(target.is_empty());
  Archived other;
  CHECK(target.import(other, whole).error().code == errc::archive_invalid);
  CHECK(target.is_empty());
  REQUIRE(target.import(origin, whole));
  CHECK(target.import(origin, whole).error().code == errc::exists);
  CHECK(target.events().size() == 5);
}

}  // namespace postern::ledger
