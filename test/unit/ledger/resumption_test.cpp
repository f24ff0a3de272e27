// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "ledger/posix_directory.h"
#include "ledger/recovery.h"
#include "unit/ledger/scratch_journal.h"

namespace postern::ledger {
namespace {

void append(Journal& journal, const std::string& payload) {
  const std::vector<std::string> batch = {payload};
  REQUIRE(journal.append(batch));
}

// Of OPEN records, other than that all was well.
std::vector<std::string> findings(const ScratchJournal& scratch) {
  const Result<std::unique_ptr<Directory>> directory = PosixDirectory::open(scratch.path());
  REQUIRE(directory);
  std::vector<std::string> out;
  const Result<Examination> found = examine(**directory, [&out](const Record& record) -> Result<> {
    const bool usual = record.payload.find("\"class\":\"clean\"") != std::string::npos;
    if (record.type == RecordType::open && !usual) out.push_back(record.payload);
    return {};
  });
  REQUIRE(found);
  return out;
}

}  // namespace

TEST_CASE("who is asked before a change sees where the journal ends, and a no leaves every byte as it was") {
  ScratchJournal scratch;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    append(**journal, "{\"a\":1}");
    append(**journal, "{\"b\":2}");
  }
  const auto before = scratch.contents();
  JournalEnd seen;
  scratch.options.before_change = [&seen](const JournalEnd& end) -> Result<Resumption> {
    seen = end;
    return fail(errc::contended, "no");
  };
  const Result<std::unique_ptr<Journal>> refused = scratch.open();
  REQUIRE(!refused);
  CHECK(refused.error().context == "no");
  CHECK(seen.head == Lseq(2));
  CHECK(seen.machine == Id128{1});
  CHECK(scratch.contents() == before);

  scratch.options.before_change = nullptr;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  CHECK((*journal)->status().journal == seen.journal);
}

TEST_CASE(
    "the journal of another machine is refused unchanged, until it is adopted, and then is this one's") {
  ScratchJournal scratch;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    append(**journal, "{\"a\":1}");
  }
  scratch.options.machine = Id128{2};
  const auto before = scratch.contents();
  const Result<std::unique_ptr<Journal>> refused = scratch.open();
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::foreign_machine);
  CHECK(refused.error().context.find("postern journal adopt") != std::string::npos);
  CHECK(scratch.contents() == before);

  scratch.options.before_change = [](const JournalEnd&) -> Result<Resumption> { return Resumption::adopted; };
  REQUIRE(scratch.open());
  CHECK(scratch.replayed == std::vector<std::string>{"{\"a\":1}"});
  scratch.options.before_change = nullptr;
  REQUIRE(scratch.open());
  REQUIRE(findings(scratch).size() == 1);
  CHECK(findings(scratch)[0].find("\"class\":\"adopted\"") != std::string::npos);
  scratch.options.machine = Id128{1};
  CHECK(!scratch.open());
}

TEST_CASE("a start on a disk that went back is recorded though the journal itself is clean") {
  ScratchJournal scratch;
  scratch.options.before_change = [](const JournalEnd&) -> Result<Resumption> {
    return Resumption::went_back;
  };
  REQUIRE(scratch.open());
  REQUIRE(findings(scratch).size() == 1);
  CHECK(findings(scratch)[0].find("\"class\":\"went_back\"") != std::string::npos);
}

}  // namespace postern::ledger
