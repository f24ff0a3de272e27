// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/file.h"
#include "ledger/lock.h"
#include "unit/ledger/scratch_journal.h"

namespace postern::ledger {

TEST_CASE("only a lock call that succeeded means held; all but a held lock elsewhere means unsupported") {
  CHECK(lock_outcome(0) == LockOutcome::held);
  CHECK(lock_outcome(EWOULDBLOCK) == LockOutcome::contended);
  for (const int error : {ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL, EBADF, EINTR, EIO, EACCES}) {
    CAPTURE(error);
    CHECK(lock_outcome(error) == LockOutcome::unsupported);
  }
}

TEST_CASE("a second opener is refused, is told who holds the lock, and changes nothing") {
  ScratchJournal scratch;
  Result<std::unique_ptr<Journal>> first = scratch.open();
  REQUIRE(first);
  const auto before = scratch.contents();
  const Result<std::unique_ptr<Journal>> second = scratch.open();
  REQUIRE(!second);
  CHECK(second.error().code == errc::contended);
  CHECK(second.error().context.find(std::to_string(::getpid())) != std::string::npos);
  CHECK(scratch.contents() == before);
  first->reset();
  CHECK(scratch.open());
}

TEST_CASE("a file system that cannot lock is refused and nothing is read") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  recording->fault = [](const std::string& call) { return call == "lock LOCK" ? ENOLCK : 0; };
  const auto before = scratch.contents();
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(!journal);
  CHECK(journal.error().code == errc::lock_unsupported);
  CHECK(recording->count("open seg-") == 0);
  CHECK(scratch.contents() == before);
}

TEST_CASE("nothing is listed, opened or read before the lock is held") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  REQUIRE(scratch.open(recording));
  const std::size_t locked = recording->index_of("lock LOCK");
  REQUIRE(locked < recording->calls.size());
  for (const std::string_view call :
       {"list", "read ", "open seg-", "open spare", "exists seg-", "write ", "sync", "rename "}) {
    CAPTURE(call);
    CHECK(recording->index_of(call) > locked);
  }
  CHECK(recording->index_of("sync") < recording->index_of("list"));
}

TEST_CASE("a program that was started while a journal was open does not keep it locked") {
  ScratchJournal scratch;
  Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sleep", "sleep", "60", nullptr);
    ::_exit(127);
  }
  REQUIRE(child > 0);
  // The descriptors are closed by the exec, so wait for that.
  const std::string program = "/proc/" + std::to_string(child) + "/comm";
  for (Result<std::string> name = read_file(program, 64); name && !name->starts_with("sleep");)
    name = read_file(program, 64);
  journal->reset();
  const Result<std::unique_ptr<Journal>> again = scratch.open();
  CHECK_MESSAGE(again, (again ? "" : again.error().message()));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("a journal whose directory is replaced while it is idle accepts nothing more") {
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  CHECK((*journal)->still_ours());
  std::filesystem::rename(scratch.path(), scratch.path().string() + ".away");
  std::filesystem::copy(scratch.path().string() + ".away", scratch.path());
  const Result<> ours = (*journal)->still_ours();
  std::filesystem::remove_all(scratch.path().string() + ".away");
  REQUIRE(!ours);
  CHECK(ours.error().code == errc::poisoned);
  CHECK((*journal)->status().poisoned);
  const std::vector<std::string> batch = {"{}"};
  const Result<Lseq> appended = (*journal)->append(batch);
  REQUIRE(!appended);
  CHECK(appended.error().code == errc::poisoned);
}

TEST_CASE("a LOCK that was replaced while it was being locked is refused") {
  ScratchJournal scratch;
  const auto recording = std::make_shared<Recording>();
  recording->fault = [&scratch](const std::string& call) {
    if (call == "lock LOCK") {
      std::filesystem::rename(scratch.file("LOCK"), scratch.file("LOCK.old"));
      std::filesystem::copy_file(scratch.file("LOCK.old"), scratch.file("LOCK"));
    }
    return 0;
  };
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(!journal);
  CHECK(journal.error().code == errc::unsafe_directory);
  CHECK(recording->count("open seg-") == 0);
}

}  // namespace postern::ledger
