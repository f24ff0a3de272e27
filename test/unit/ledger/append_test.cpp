// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cerrno>
#include <future>
#include <optional>
#include <utility>

#include "unit/ledger/journal_image.h"
#include "unit/ledger/scratch_journal.h"
#include "unit/ledger/small_events.h"

namespace postern::ledger {
namespace {

Result<Lseq> append(const Result<std::unique_ptr<Journal>>& journal,
                    const std::vector<std::string>& payloads) {
  return (*journal)->append(payloads);
}

int fail_once(const std::string& call, const std::string& when, int error, bool& armed) {
  if (!armed || call != when) return 0;
  armed = false;
  return error;
}

}  // namespace

TEST_CASE("what was acknowledged is replayed in order, once, at every later start") {
  ScratchJournal scratch;
  std::vector<std::string> all;
  for (int start = 0; start < 4; ++start) {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    CHECK(scratch.replayed == all);
    for (int batch = 0; batch < 3; ++batch) {
      const std::string tag = std::to_string(start * 10 + batch);
      const std::vector<std::string> payloads = {"{\"a\":" + tag + "}", "{\"b\":" + tag + "}"};
      const Result<Lseq> head = append(journal, payloads);
      REQUIRE(head);
      CHECK(*head == (*journal)->status().head);
      all.insert(all.end(), payloads.begin(), payloads.end());
    }
  }
}

TEST_CASE(
    "an append returns only after the flush of the file that it wrote, and the pin is told in between") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  std::vector<Lseq> pinned;
  scratch.options.after_flush = [&](const JournalStatus& status) {
    recording->calls.emplace_back("pin");
    pinned.push_back(status.head);
  };
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  recording->calls.clear();
  const Result<Lseq> head = append(journal, {"{\"a\":1}"});
  REQUIRE(head);
  const std::size_t written = recording->index_of("write seg-1");
  const std::size_t flushed = recording->index_of("datasync seg-1", written);
  REQUIRE(written < recording->calls.size());
  CHECK(flushed < recording->calls.size());
  CHECK(recording->index_of("pin") > flushed);
  CHECK(pinned == std::vector<Lseq>{*head});
  CHECK(recording->count("write seg-1") == 1);
}

TEST_CASE("a failed flush is not acknowledged, poisons, and is not tried again") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  REQUIRE(append(journal, {"{\"acked\":1}"}));
  bool armed = true;
  recording->fault = [&armed](const std::string& call) {
    return fail_once(call, "datasync seg-1", EIO, armed);
  };
  recording->calls.clear();
  const Result<Lseq> unknown = append(journal, {"{\"unknown\":1}"});
  REQUIRE(!unknown);
  CHECK(unknown.error().code == errc::poisoned);
  for (int i = 0; i < 3; ++i)
    CHECK(append(journal, {"{\"later\":1}"}).error().code == errc::poisoned);
  CHECK((*journal)->close().error().code == errc::poisoned);
  CHECK((*journal)->put_file("auth-1-ab", "x").error().code == errc::poisoned);
  CHECK(recording->count("datasync") == 1);
  CHECK(recording->count("write") == 1);
  CHECK((*journal)->status().poisoned);
  CHECK((*journal)->status().poison_reason.find("fdatasync of seg-1") != std::string::npos);
  journal->reset();
  REQUIRE(scratch.open());
  REQUIRE(!scratch.replayed.empty());
  CHECK(scratch.replayed[0] == "{\"acked\":1}");
}

TEST_CASE(
    "a poisoned journal takes nothing more: no append, no submission, no settling, no compaction, no file") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  int pinned = 0;
  scratch.options.after_flush = [&pinned](const JournalStatus&) { ++pinned; };
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  fill_segment(**journal, "{\"a\":1}");  // so that there is something to compact
  REQUIRE((*journal)->put_file("auth-1-ab", "x"));
  pinned = 0;
  recording->fault = [](const std::string& call) { return call.starts_with("datasync") ? EIO : 0; };
  REQUIRE(!append(journal, {"{\"unknown\":1}"}));
  CHECK(pinned == 0);  // what is not known to be stored is promised to nobody
  recording->fault = {};
  recording->calls.clear();
  std::optional<Result<Lseq>> told;
  (*journal)->submit({"{\"b\":1}"}, [&told](Result<Lseq> done) { told = std::move(done); });
  REQUIRE(told);
  CHECK(told->error().code == errc::poisoned);
  CHECK(append(journal, {"{\"c\":1}"}).error().code == errc::poisoned);
  CHECK((*journal)->settle(Lseq(1), SettledBy::an_operator).error().code == errc::poisoned);
  CHECK(compact(**journal).error().code == errc::poisoned);
  CHECK((*journal)->close().error().code == errc::poisoned);
  CHECK((*journal)->still_ours().error().code == errc::poisoned);
  CHECK((*journal)->put_file("auth-2-ab", "x").error().code == errc::poisoned);
  CHECK((*journal)->remove_file("auth-1-ab").error().code == errc::poisoned);
  for (const char* changes : {"write", "datasync", "rename", "unlink", "sync", "open"})
    CHECK(recording->count(changes) == 0);
  CHECK(pinned == 0);
}

TEST_CASE("what was queued when the poison came is not written behind it") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  const auto told = std::make_shared<std::promise<Result<Lseq>>>();
  recording->calls.clear();
  std::string struck = "datasync seg-1";
  std::size_t written = 1;
  SUBCASE("by the flush") {}
  SUBCASE("before anything was written, so that the place is still free") {
    struck = "read seg-1";
    written = 0;
  }
  bool once = true;
  recording->fault = [&, told](const std::string& call) {
    if (call != struck || !std::exchange(once, false)) return 0;
    (*journal)->submit({"{\"late\":1}"}, [told](Result<Lseq> done) { told->set_value(std::move(done)); });
    return EIO;
  };
  (*journal)->submit({"{\"early\":1}"}, [](const Result<Lseq>&) {});
  CHECK(told->get_future().get().error().code == errc::poisoned);
  CHECK(recording->count("write seg-1") == written);
}

TEST_CASE("a failed or short write poisons, and what was acknowledged before is there after a restart") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  REQUIRE(append(journal, {"{\"acked\":1}"}));
  SUBCASE("EIO") {
    recording->fault = [](const std::string& call) { return call == "write seg-1" ? EIO : 0; };
  }
  SUBCASE("short") {
    recording->shorten = [](const std::string& call, std::size_t bytes) {
      return call == "write seg-1" ? std::size_t{512} : bytes;
    };
  }
  recording->calls.clear();
  const Result<Lseq> lost = append(journal, {payload_of(2000)});
  REQUIRE(!lost);
  CHECK(lost.error().code == errc::poisoned);
  CHECK(recording->count("datasync") == 0);
  journal->reset();
  REQUIRE(scratch.open());
  CHECK(scratch.replayed == std::vector<std::string>{"{\"acked\":1}"});
}

TEST_CASE("a target that does not read as zeros, or a later segment, means a second writer: poison") {
  ScratchJournal scratch;
  Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  REQUIRE(append(journal, {"{\"a\":1}"}));
  SUBCASE("bytes in the target") {
    scratch.overwrite("seg-1", kFirstBatchOffset + kBlockBytes + 700, "x");
  }
  SUBCASE("a later segment") {
    std::filesystem::copy_file(scratch.file("spare"), scratch.file("seg-2"));
  }
  const auto before = scratch.contents();
  const Result<Lseq> refused = append(journal, {payload_of(2000)});
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::poisoned);
  CHECK(refused.error().context.find("second writer") != std::string::npos);
  CHECK(scratch.contents() == before);
}

TEST_CASE("without a spare nothing is appended; that is no poison, and ends when there is space again") {
  ScratchJournal scratch;
  std::filesystem::remove(scratch.file("spare"));
  const auto recording = std::make_shared<Recording>();
  bool full = true;
  recording->fault = [&full](const std::string& call) {
    return full && call == "write spare.tmp" ? ENOSPC : 0;
  };
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  recording->calls.clear();
  const Result<Lseq> refused = append(journal, {"{\"a\":1}"});
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::disk_full);
  CHECK(recording->count("write seg-") == 0);
  CHECK(!(*journal)->status().poisoned);
  CHECK(!std::filesystem::exists(scratch.file("spare.tmp")));
  full = false;
  CHECK(append(journal, {"{\"a\":1}"}));
  CHECK(std::filesystem::exists(scratch.file("spare")));
}

TEST_CASE("a full journal rolls: every record is there at each later start, and a spare too") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  std::vector<std::string> all;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
    REQUIRE(journal);
    for (int i = 0; i < 400; ++i) {
      all.push_back("{\"i\":" + std::to_string(i) + ",\"p\":\"" + std::string(47'000, 'r') + "\"}");
      const Result<Lseq> head = append(journal, {all.back()});
      REQUIRE_MESSAGE(head, (head ? "" : head.error().message()));
    }
    CHECK((*journal)->status().segment == 3);
  }
  const std::size_t flushed = recording->index_of("datasync spare", recording->index_of("write seg-1"));
  const std::size_t renamed = recording->index_of("rename spare seg-2");
  CHECK(flushed < renamed);
  CHECK(renamed < recording->index_of("sync", renamed));
  CHECK(recording->index_of("sync", renamed) < recording->index_of("write seg-2"));
  CHECK(recording->index_of("rename spare.tmp spare", renamed) < recording->index_of("write seg-2"));
  for (int start = 0; start < 2; ++start) {
    REQUIRE(scratch.open());
    CHECK(scratch.replayed == all);
  }
}

TEST_CASE("a disk that fills up at a roll refuses the append, keeps the roll and loses nothing") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  bool full = true;
  recording->fault = [&full](const std::string& call) {
    return full && call == "write spare.tmp" ? ENOSPC : 0;
  };
  std::vector<std::string> acked;
  Result<Lseq> head = Lseq(0);
  while (head && acked.size() < 300) {
    const std::string payload = payload_of(48'000, static_cast<char>('a' + acked.size() % 26));
    head = append(journal, {payload});
    if (head) acked.push_back(payload);
  }
  REQUIRE(!head);
  CHECK(head.error().code == errc::disk_full);
  CHECK((*journal)->status().segment == 2);
  journal->reset();
  {
    const Result<std::unique_ptr<Journal>> again = scratch.open(recording);  // still full: opens all the same
    REQUIRE(again);
    CHECK(scratch.replayed == acked);
    CHECK(append(again, {"{\"a\":1}"}).error().code == errc::disk_full);
    full = false;
    CHECK(append(again, {"{\"a\":1}"}));
  }
  REQUIRE(scratch.open());
  CHECK(scratch.replayed.size() == acked.size() + 1);
}

TEST_CASE("a roll that fails at any call is never acknowledged, and nothing acknowledged is lost") {
  std::vector<std::string> calls;
  std::size_t first = 0;
  const std::string large = payload_of(48'000);
  const std::vector<std::string> full(173, large);
  {
    ScratchJournal scratch;
    const auto recording = std::make_shared<Recording>();
    const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
    REQUIRE(journal);
    REQUIRE(append(journal, full));
    recording->calls.clear();
    REQUIRE(append(journal, full));
    calls = recording->calls;
    REQUIRE(recording->count("rename spare seg-2") == 1);
    first = recording->index_of("open spare");
  }
  for (std::size_t at = first; at < calls.size(); ++at) {
    // Of a file that is written in pieces the first one and the last.
    if (at > first && at + 1 < calls.size() && calls[at - 1] == calls[at] && calls[at + 1] == calls[at])
      continue;
    for (const int error : {EIO, ENOSPC}) {
      CAPTURE(calls[at]);
      CAPTURE(error);
      ScratchJournal scratch;
      const auto recording = std::make_shared<Recording>();
      Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
      REQUIRE(journal);
      REQUIRE(append(journal, full));
      recording->calls.clear();
      recording->fault = [&](const std::string&) { return recording->calls.size() == at + 1 ? error : 0; };
      const Result<Lseq> refused = append(journal, full);
      recording->fault = {};
      if (calls[at].starts_with("unlink ")) continue;  // of what is not there
      REQUIRE(!refused);
      // Only the making of the next spare may fail for want of space without poisoning.
      const bool spare =
          error == ENOSPC && recording->count("rename spare seg-2") == 1 && !(*journal)->status().poisoned;
      CHECK((spare ? refused.error().code == errc::disk_full : refused.error().code == errc::poisoned));
      journal->reset();
      const Result<std::unique_ptr<Journal>> again = scratch.open();
      REQUIRE_MESSAGE(again, (again ? "" : again.error().message()));
      CHECK(scratch.replayed.size() >= full.size());
      REQUIRE(append(again, {"{\"a\":1}"}));
    }
  }
}

TEST_CASE("a segment's name is on the disk before anything is written into it") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  while ((*journal)->status().segment == 1)
    REQUIRE(append(journal, {payload_of(48'000)}));
  const std::size_t renamed = recording->index_of("rename spare seg-2");
  const std::size_t synced = recording->index_of("sync", renamed);
  CHECK(renamed < recording->calls.size());
  CHECK(synced == renamed + 1);
  CHECK(synced < recording->index_of("write seg-2", renamed));
}

TEST_CASE("a roll under a replaced LOCK poisons instead of writing") {
  ScratchJournal scratch;
  Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  std::filesystem::rename(scratch.file("LOCK"), scratch.file("LOCK.old"));
  std::filesystem::copy_file(scratch.file("LOCK.old"), scratch.file("LOCK"));
  Result<Lseq> head = Lseq(0);
  for (int i = 0; head && i < 300; ++i)
    head = append(journal, {payload_of(48'000)});
  REQUIRE(!head);
  CHECK(head.error().code == errc::poisoned);
  CHECK(!std::filesystem::exists(scratch.file("seg-2")));
}

TEST_CASE(
    "events and batches beyond the limits, empty ones and NUL bytes are refused before anything is written") {
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  const auto before = scratch.contents();
  CHECK(append(journal, {std::string(kMaxEventBytes + 1, 'x')}).error().code == errc::record_too_large);
  CHECK(append(journal, std::vector<std::string>(180, std::string(kMaxEventBytes, 'x'))).error().code ==
        errc::record_too_large);
  CHECK(append(journal, {""}).error().code == errc::event_invalid);
  CHECK(append(journal, {std::string("{\0}", 3)}).error().code == errc::event_invalid);
  CHECK(append(journal, {}).value() == Lseq(0));
  CHECK(scratch.contents() == before);
  CHECK(append(journal, {std::string(kMaxEventBytes, 'x')}));
}

TEST_CASE("the largest batch fits a segment, and so does what recovery makes of it") {
  ScratchJournal scratch;
  std::vector<std::string> batch(170, payload_of(kMaxEventBytes));
  std::size_t bytes = batch.size() * record_bytes(kMaxEventBytes);
  REQUIRE(bytes < kMaxBatchBytes);
  while (kMaxBatchBytes - bytes >= record_bytes(400)) {
    batch.push_back(payload_of(std::min(kMaxEventBytes, kMaxBatchBytes - bytes - record_field::size)));
    bytes += record_bytes(batch.back().size());
  }
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    REQUIRE(append(journal, batch));
  }
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
  CHECK(scratch.replayed == batch);
}

TEST_CASE("a closed journal takes nothing more, and the next start knows that it was closed") {
  ScratchJournal scratch;
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    CHECK(!(*journal)->recovery().clean_stop);
    REQUIRE(append(journal, {"{\"a\":1}"}));
    REQUIRE((*journal)->close());
    CHECK(append(journal, {"{\"b\":1}"}).error().code == errc::closed);
  }
  {
    const Result<std::unique_ptr<Journal>> journal = scratch.open();
    REQUIRE(journal);
    CHECK((*journal)->recovery().clean_stop);
    CHECK(scratch.replayed == std::vector<std::string>{"{\"a\":1}"});
  }
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  CHECK(!(*journal)->recovery().clean_stop);
}

}  // namespace postern::ledger
