// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "unit/authority/authority_desk.h"
#include "unit/core/scratch_directory.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::agent;
using namespace postern::testing;

namespace {

// A disk that remembers what the desk issues now.
ledger::AuthorityState remembers(const AuthorityDesk& desk) {
  ledger::AuthorityState state;
  state.adopted = desk.adopted();
  state.floors = state.adopted->floors;
  return state;
}

}  // namespace

TEST_CASE("a recovery has to end at or above what the kernel serves") {
  AuthorityDesk desk;
  const ledger::AuthorityState disk = remembers(desk);
  const authority::Root root = desk.root();
  const UtcSeconds wall = desk.snapshot().issued;
  const std::string next = desk.issue_next().file();
  const Serial serial = desk.snapshot().serial;
  const auto verdict = [&](Serial kernel) {
    return outcome(check_recovery(next, root, "demo", disk, {kernel, {}}, wall));
  };
  CHECK(verdict(Serial(0)) == "ok");
  CHECK(verdict(serial) == "ok");
  CHECK(verdict(serial.next()) == "agent.disk_went_back");
}

TEST_CASE("a recovery is judged by the root that the disk remembers, and never goes back") {
  AuthorityDesk desk;
  const std::string old = desk.file();
  const authority::Root root = desk.root();
  const UtcSeconds wall = desk.snapshot().issued;
  const ledger::AuthorityState disk = remembers(desk.issue_next());
  const auto verdict = [&](std::string_view text) {
    return outcome(check_recovery(text, root, "demo", disk, {}, wall));
  };
  CHECK(verdict(old) == "snapshot.rollback");
  const AuthorityDesk stranger;
  CHECK(verdict(stranger.file()) == "snapshot.threshold");
  Files chain;
  chain.add(desk.rotate()).add(desk.rotate());
  CHECK(verdict(chain.bundle()) == "ok");
}

TEST_CASE("a recovery bundle is read once: gone after it was removed, and missed by nobody") {
  const ScratchDirectory scratch;
  const StateDirectory state{scratch / ""};
  CHECK_FALSE(read_recovery_bundle(state).value());
  std::ofstream(state.recovery_bundle()) << "bundle";
  CHECK(read_recovery_bundle(state).value() == "bundle");
  CHECK(outcome(remove_recovery_bundle(state)) == "ok");
  CHECK_FALSE(read_recovery_bundle(state).value());
  CHECK(outcome(remove_recovery_bundle(state)) == "ok");
}
