// SPDX-License-Identifier: Apache-2.0
// Where threads meet: also built with ThreadSanitizer (build/test-tsan).
#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "ledger/errors.h"
#include "ledger/group_commit.h"
#include "unit/ledger/scratch_journal.h"
#include "unit/ledger/small_events.h"

TEST_SUITE_BEGIN("journal_durability_tests");

namespace postern::ledger {
namespace {

// Stands in for the disk: keeps what was written, and can be held in the middle of a flush.
class Tape {
 public:
  Result<Lseq> write(std::span<const BatchItem> items) {
    std::unique_lock<std::mutex> lock(mutex_);
    ++flushes_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    if (failure_) return tl::unexpected<Error>(*failure_);
    batches_.push_back(items.size());
    for (const BatchItem& item : items)
      written_.emplace_back(item.payload);
    return Lseq(written_.size());
  }

  void hold(bool held) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void wait_for_flush(std::size_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return flushes_ >= number; });
  }
  void fail_with(const Error& failure) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = failure;
  }

  std::vector<std::string> written() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return written_;
  }
  std::vector<std::size_t> batches() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return batches_;
  }
  GroupCommit::Write writer() {
    return [this](std::span<const BatchItem> items) { return write(items); };
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::size_t flushes_ = 0;
  std::optional<Error> failure_;
  std::vector<std::string> written_;
  std::vector<std::size_t> batches_;
};

std::future<Result<Lseq>> submit(GroupCommit& commits, const std::string& payload) {
  auto promise = std::make_shared<std::promise<Result<Lseq>>>();
  std::future<Result<Lseq>> future = promise->get_future();
  commits.submit(RecordType::event, {payload},
                 [promise](Result<Lseq> done) { promise->set_value(std::move(done)); });
  return future;
}

}  // namespace

TEST_CASE("a batch is what arrived during the last flush, in the order of arrival") {
  Tape tape;
  tape.hold(true);
  GroupCommit commits(1U << 20, tape.writer());
  std::future<Result<Lseq>> first = submit(commits, "0");
  tape.wait_for_flush(1);
  std::vector<std::future<Result<Lseq>>> rest;
  for (int i = 1; i <= 50; ++i)
    rest.push_back(submit(commits, std::to_string(i)));
  CHECK(first.wait_for(std::chrono::seconds(0)) ==
        std::future_status::timeout);  // not before its flush returned
  tape.hold(false);
  CHECK(first.get().value() == Lseq(1));
  for (std::size_t i = 0; i < rest.size(); ++i)
    CHECK(rest[i].get().value() == Lseq(i + 2));
  CHECK(tape.batches() == std::vector<std::size_t>{1, 50});
}

TEST_CASE("threads that wait come back when their own record is written, each told its own place") {
  constexpr int kThreads = 8;
  constexpr int kEach = 100;
  Tape tape;
  GroupCommit commits(5 * record_bytes(8), tape.writer());
  std::atomic<int> in_place = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const std::string payload = std::to_string(t) + "-" + std::to_string(i);
          const std::vector<BatchItem> items = {{RecordType::event, "first"}, {RecordType::event, payload}};
          const Result<Lseq> lseq = commits.commit(items);
          const std::vector<std::string> written = tape.written();
          if (lseq && lseq->value > 1 && lseq->value <= written.size() &&
              written[lseq->value - 1] == payload && written[lseq->value - 2] == "first")
            ++in_place;
        }
      });
    }
  }
  CHECK(in_place == kThreads * kEach);
}

TEST_CASE("a batch never grows beyond its limit") {
  Tape tape;
  tape.hold(true);
  GroupCommit commits(3 * record_bytes(1), tape.writer());
  std::vector<std::future<Result<Lseq>>> all;
  all.push_back(submit(commits, "0"));
  tape.wait_for_flush(1);
  for (int i = 1; i <= 7; ++i)
    all.push_back(submit(commits, std::to_string(i)));
  tape.hold(false);
  for (std::future<Result<Lseq>>& done : all)
    CHECK(done.get());
  CHECK(tape.batches() == std::vector<std::size_t>{1, 3, 3, 1});
}

TEST_CASE("a failure reaches everybody in the batch, waiting or not, and each of them once") {
  Tape tape;
  tape.hold(true);
  GroupCommit commits(1U << 20, tape.writer());
  std::future<Result<Lseq>> first = submit(commits, "0");
  tape.wait_for_flush(1);
  std::vector<std::future<Result<Lseq>>> rest;
  for (int i = 0; i < 5; ++i)
    rest.push_back(submit(commits, "s"));
  std::future<Result<Lseq>> waiting = std::async(std::launch::async, [&commits] {
    const std::vector<BatchItem> items = {{RecordType::event, "w"}};
    return commits.commit(items);
  });
  tape.fail_with({errc::poisoned, "outcome unknown"});
  tape.hold(false);
  CHECK(first.get().error().code == errc::poisoned);
  for (std::future<Result<Lseq>>& done : rest)
    CHECK(done.get().error().code == errc::poisoned);
  CHECK(waiting.get().error().code == errc::poisoned);
  CHECK(tape.written().empty());
}

TEST_CASE("what is queued when the end comes is still written and answered") {
  Tape tape;
  std::vector<std::future<Result<Lseq>>> all;
  {
    tape.hold(true);
    GroupCommit commits(1U << 20, tape.writer());
    for (int i = 0; i < 20; ++i)
      all.push_back(submit(commits, std::to_string(i)));
    tape.wait_for_flush(1);
    tape.hold(false);
  }
  for (std::future<Result<Lseq>>& done : all)
    CHECK(done.get());
  CHECK(tape.written().size() == 20);
}

TEST_CASE("a completion may submit again, and is told in order") {
  Tape tape;
  std::vector<std::uint64_t> told;  // by one thread at a time
  std::promise<void> end;
  {
    GroupCommit commits(1U << 20, tape.writer());
    commits.submit(RecordType::event, {"a"}, [&](Result<Lseq> first) {
      told.push_back(first.value().value);
      commits.submit(RecordType::event, {"b"}, [&](Result<Lseq> second) {
        told.push_back(second.value().value);
        end.set_value();
      });
    });
    end.get_future().wait();
  }
  CHECK(told == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("threads that append, submit, read, ask and compact at once lose nothing and see each event once") {
  constexpr int kThreads = 4;
  constexpr int kEach = 40;
  ScratchJournal scratch;
  Result<std::unique_ptr<Journal>> journal =
      Journal::open(scratch.options, {});  // a recorder is not for threads
  REQUIRE(journal);
  fill_segment(**journal, "{\"n\":0}");
  std::atomic<int> acknowledged = 0;
  std::atomic<bool> writing = true;
  std::vector<std::string> read;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          const std::string payload = "{\"t\":" + std::to_string(t) + ",\"i\":" + std::to_string(i) + "}";
          if (t % 2 == 0) {
            if ((*journal)->append(std::vector<std::string>{payload})) ++acknowledged;
          } else {
            (*journal)->submit({payload}, [&](Result<Lseq> done) { acknowledged += done ? 1 : 0; });
          }
        }
      });
    }
    std::jthread reader([&] {
      Cursor cursor;
      while (true) {
        const bool last = !writing;
        const Result<Page> page = (*journal)->read_page(cursor, {7, 1U << 20});
        if (!page) return;
        for (const Record& record : page->events)
          read.push_back(record.payload);
        cursor = page->next;
        if (last && page->at_end) return;
      }
    });
    const Result<CompactionReport> compacted = compact(**journal);
    CHECK(compacted);
    for (int i = 0; i < 20; ++i)
      CHECK(!(*journal)->status().poisoned);
    threads.clear();
    while (acknowledged < kThreads * kEach)
      std::this_thread::yield();
    writing = false;
  }
  const std::vector<std::string> small = small_ones(read);
  CHECK(small.size() == 1 + kThreads * kEach);
  journal->reset();
  REQUIRE(scratch.open());
  CHECK(small_ones(scratch.replayed) == small);
}

TEST_CASE("a failed flush reaches each submitter as unknown, and what comes later is refused at once") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  recording->fault = [](const std::string& call) { return call == "datasync seg-1" ? EIO : 0; };
  // Shared: whoever is told can be done with the answer before the one who tells is done with the promise.
  const auto told = std::make_shared<std::promise<Result<Lseq>>>();
  (*journal)->submit({"{\"a\":1}"}, [told](Result<Lseq> done) { told->set_value(std::move(done)); });
  const Result<Lseq> outcome = told->get_future().get();
  REQUIRE(!outcome);
  CHECK(outcome.error().code == errc::poisoned);
  CHECK(outcome.error().context.find("outcome unknown") != std::string::npos);
  bool refused = false;
  (*journal)->submit({"{\"b\":1}"}, [&](Result<Lseq> done) { refused = !done; });
  CHECK(refused);
}

TEST_CASE("a submission of the wrong size or content is refused before submit returns") {
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  for (const std::string& payload :
       {std::string(kMaxEventBytes + 1, 'x'), std::string(), std::string("{\0}", 3)}) {
    bool refused = false;
    (*journal)->submit({payload}, [&](Result<Lseq> done) { refused = !done; });
    CHECK(refused);
  }
}

}  // namespace postern::ledger

TEST_SUITE_END();
