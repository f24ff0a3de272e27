// SPDX-License-Identifier: Apache-2.0
// What becomes of a claim that its holder releases (SPEC 10.5): it serves on until another claim counts, for
// as long as its kernel's deadline then lies ahead, and nothing puts that off.
#include <doctest/doctest.h>

#include <algorithm>

#include "claims/timing.h"
#include "sim/stories/scripted_mesh.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::testing;
using ledger::Verdict;
using Verdicts = std::vector<Verdict>;

namespace {

constexpr std::uint64_t kHandOver_ms = claims::kHandOver_ns / claims::kMillisecond_ns;

void revokes(ScriptedMesh& mesh, char gateway) {
  const Result<> revoked = mesh.at(gateway).claims().revoke(kDoor, "");
  REQUIRE_MESSAGE(revoked, context(revoked));
}

}  // namespace

TEST_CASE(
    "who releases serves on until the next one has claimed, and then nobody does for one agreement's time") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.automatic('b');
  mesh.release('a');
  std::uint64_t nobody_ms = 0;
  for (int i = 0; i < 20 && mesh.serving() != "b"; ++i) {
    mesh.run(100);
    if (mesh.serving() == "") nobody_ms += 100;
    // Every kernel lets somebody's packets pass until its own gateway knows of the next claim.
    for (const char gateway : {'a', 'b', 'c'})
      if (mesh.top_epoch(gateway) == Epoch(1)) CHECK(mesh.at(gateway).lets_pass(kDoor));
  }
  CHECK(mesh.serving() == "b");
  CHECK(nobody_ms <= 200);
  CHECK(mesh.at('c').claims().conflicts().empty());
  mesh.run(10'000);
  CHECK(mesh.serving() == "b");
  CHECK(mesh.disagreement() == "");
}

TEST_CASE(
    "who releases and is not followed stops when the time of a hand-over is over, and nobody puts that off") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.run(2'000);
  mesh.release('a');
  std::map<char, std::uint64_t> until_boot_ns{{'a', ~0ull}, {'b', ~0ull}, {'c', ~0ull}};
  for (std::uint64_t passed_ms = 0; passed_ms < kHandOver_ms - 200; passed_ms += 100) {
    mesh.run(100);
    CHECK(mesh.serving() == "a");
    CHECK(mesh.view('a').standing == claims::Standing::parting);
    for (auto& [gateway, until] : until_boot_ns) {
      CHECK(mesh.kernel(gateway).deadline_boot_ns <= until);
      until = mesh.kernel(gateway).deadline_boot_ns;
    }
  }
  mesh.run(300);
  CHECK(mesh.serving() == "");
  mesh.run(500);
  for (const char gateway : {'a', 'b', 'c'}) {
    CHECK_FALSE(mesh.kernel(gateway).holder);
    CHECK(mesh.view(gateway).standing == claims::Standing::unheld);
  }
  CHECK(mesh.verdicts('c') == Verdicts{Verdict::released});
}

TEST_CASE("a beat that is older than its sender's release and comes after it puts nothing off") {
  ScriptedMesh mesh({.ttl_ms = 60'000});
  mesh.a_serves();
  // A beat is on its way, and all is told before it is missed and b relays it.
  const std::uint64_t beats = mesh.beats('c', 'a');
  while (mesh.beats('c', 'a') == beats)
    mesh.run(100);
  mesh.stall('a', 'c');
  mesh.run(1'100);
  mesh.release('a');
  // By way of b.
  for (int i = 0; i < 6 && mesh.holder('c') != ""; ++i)
    mesh.run(100);
  REQUIRE(mesh.verdicts('c') == Verdicts{Verdict::released});
  const std::uint64_t until_boot_ns = mesh.kernel('c').deadline_boot_ns;
  REQUIRE(until_boot_ns > mesh.at('c').boot_ns());
  mesh.go_on();
  mesh.run(100);
  CHECK(mesh.kernel('c').deadline_boot_ns == until_boot_ns);
}

TEST_CASE("a release bounds its holder before the disk is asked") {
  ScriptedMesh mesh({.ttl_ms = 60'000});
  mesh.a_serves();
  std::uint64_t left_ns = 0;
  mesh.at('a').before_write([&] {
    left_ns = mesh.kernel('a').deadline_boot_ns - mesh.at('a').boot_ns();
    mesh.at('a').before_write({});
  });
  mesh.release('a');
  CHECK(left_ns == claims::kHandOver_ns);
}

TEST_CASE("what is released stops at once when the disk takes nothing") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.at('a').refuse_writes(true);
  CHECK_FALSE(mesh.at('a').claims().release(kDoor));
  CHECK(mesh.serving() == "");
  mesh.at('a').refuse_writes(false);
  mesh.run(2'000);
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::released});
}

TEST_CASE("who released and is frozen then stops all the same") {
  ScriptedMesh mesh({.ttl_ms = 60'000});
  mesh.a_serves();
  mesh.release('a');
  mesh.run(100);
  mesh.at('a').freeze(true);
  mesh.run(kHandOver_ms - 300);
  CHECK(mesh.serving() == "a");
  mesh.run(300);
  CHECK(mesh.serving() == "");
}

TEST_CASE("who was away does not go on with what it released") {
  SUBCASE("its agent starts anew") {
    ScriptedMesh mesh;
    mesh.a_serves();
    mesh.release('a');
    mesh.run(100);
    mesh.at('a').kill();
    mesh.run(100);
    REQUIRE(mesh.serving() == "a");
    mesh.at('a').start();
    CHECK(mesh.serving() == "");
  }
  SUBCASE("its agent was stopped for more than a beat") {
    ScriptedMesh mesh;
    mesh.a_serves();
    mesh.release('a');
    mesh.at('a').freeze(true);
    mesh.run(1'200);
    REQUIRE(mesh.serving() == "a");
    mesh.at('a').freeze(false);
    mesh.run(100);
    CHECK(mesh.serving() == "");
  }
  SUBCASE("its journal takes nothing any more") {
    ScriptedMesh mesh;
    mesh.a_serves();
    mesh.release('a');
    mesh.at('a').poison();
    [[maybe_unused]] const Result<> claimed = mesh.at('c').claims().claim(kOther);
    CHECK(mesh.comes_to("", 500));
  }
}

TEST_CASE("whatever else ends a claim ends what is released at once") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.release('a');
  mesh.run(300);
  REQUIRE(mesh.serving() == "a");
  SUBCASE("a floor") {
    mesh.roster().resources.at(kDoor).floor = Epoch(7);
    mesh.follow_roster();
  }
  SUBCASE("a snapshot that drops its candidate") {
    ledger::Roster::Entry& door = mesh.roster().resources.at(kDoor);
    door.candidates.erase(door.candidates.begin());
    door.former.insert(mesh.at('a').node());
    mesh.follow_roster();
  }
  SUBCASE("a revocation by its own node") {
    revokes(mesh, 'a');
  }
  CHECK(mesh.serving() == "");
  mesh.run(200);
  for (const char gateway : {'a', 'b', 'c'})
    CHECK_FALSE(mesh.at(gateway).lets_pass(kDoor));
}

TEST_CASE("who released may claim it again while it serves on") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.release('a');
  mesh.run(300);
  REQUIRE(mesh.serving() == "a");
  mesh.claim('a');
  mesh.run(100);
  CHECK(mesh.comes_to("a", 1'000));
  CHECK(mesh.kernel('a').fence == Epoch(2));
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::released, Verdict::live});
  mesh.run(10'000);
  CHECK(mesh.serving() == "a");
}

TEST_CASE("a kernel that does not follow serves nothing under a claim that was followed") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.automatic('b');
  mesh.at('a').refuse_holders(true);
  mesh.release('a');
  mesh.run(1'500);
  CHECK(mesh.kernel('a').fence == Epoch(2));
  CHECK(mesh.serving() == "");
  mesh.at('a').refuse_holders(false);
  CHECK(mesh.comes_to("b", 1'000));
}

TEST_CASE("whoever released a claim of a longer TTL is waited for by that, though nothing was heard of it") {
  ScriptedMesh mesh({.ttl_ms = 60'000});
  mesh.a_serves();
  mesh.roster().resources.at(kDoor).ttl_ms = 8'000;
  mesh.follow_roster();
  mesh.automatic('b');
  REQUIRE(mesh.serving() == "a");
  mesh.at('a').refuse_holders(true);
  mesh.release('a');
  mesh.run(300);
  mesh.at('a').freeze(true);
  mesh.run(20'000);
  CHECK(mesh.holder('c') == "b");
  CHECK(mesh.serving() == "");
  CHECK(mesh.view('b').waits_for.size() == 1);
}
