// SPDX-License-Identifier: Apache-2.0
#include "ledger/writer_socket.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>

#include "unit/ledger/scratch_journal.h"

namespace postern::ledger {
namespace {

// Of this process alone, so that tests that run at the same time do not meet.
std::string mesh_name(const std::string& tail = "") {
  return "test-" + std::to_string(::getpid()) + tail;
}

}  // namespace

TEST_CASE("only a bind that succeeded means held; all but a name in use means unsupported") {
  CHECK(bind_outcome(0) == LockOutcome::held);
  CHECK(bind_outcome(EADDRINUSE) == LockOutcome::contended);
  for (const int error : {EACCES, EPERM, EINVAL, ENOMEM, EAFNOSUPPORT, EMFILE, ENOBUFS}) {
    CAPTURE(error);
    CHECK(bind_outcome(error) == LockOutcome::unsupported);
  }
}

TEST_CASE("a mesh has one writer in a network namespace, and the next one is told who it is") {
  Result<WriterSocket> first = WriterSocket::hold(mesh_name());
  REQUIRE(first);
  const Result<WriterSocket> second = WriterSocket::hold(mesh_name());
  REQUIRE(!second);
  CHECK(second.error().code == errc::contended);
  CHECK(second.error().context.find("pid " + std::to_string(::getpid())) != std::string::npos);
  CHECK(WriterSocket::hold(mesh_name("b")));
  CHECK(WriterSocket::hold(mesh_name().substr(0, 4)));
  { const WriterSocket gone = std::move(*first); }
  CHECK(WriterSocket::hold(mesh_name()));
}

TEST_CASE("a copy of a journal that is served is refused and not a byte of it changes") {
  ScratchJournal original;
  original.options.mesh = mesh_name();
  REQUIRE(original.open());
  ScratchJournal copy(false);
  std::filesystem::copy(original.path(), copy.path(), std::filesystem::copy_options::recursive);
  copy.options.mesh = original.options.mesh;

  Result<std::unique_ptr<Journal>> served = original.open();
  REQUIRE(served);
  const auto before = copy.contents();
  const auto recording = std::make_shared<Recording>();
  const Result<std::unique_ptr<Journal>> second = copy.open(recording);
  REQUIRE(!second);
  CHECK(second.error().code == errc::contended);
  CHECK(second.error().context.find(copy.path().string()) != std::string::npos);
  CHECK(copy.contents() == before);
  for (const std::string_view call : {"list", "open seg-", "read seg-", "write ", "rename "}) {
    CAPTURE(call);
    CHECK(recording->count(call) == 0);
  }
  served->reset();
  CHECK(copy.open());
}

}  // namespace postern::ledger
