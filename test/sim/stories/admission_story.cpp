// SPDX-License-Identifier: Apache-2.0
// When a candidate may claim, and when its claim may serve (SPEC 10.5). In all of these but the ones told as
// apart, two that serve at once fail the test.
#include <doctest/doctest.h>

#include "claims/timing.h"
#include "sim/stories/scripted_mesh.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::testing;
using ledger::Verdict;
using Verdicts = std::vector<Verdict>;

namespace {

std::uint64_t silence_ms(std::uint32_t ttl_ms) {
  return claims::silence_ns(ttl_ms) / claims::kMillisecond_ns;
}

}  // namespace

TEST_CASE("of gateways that claim at the same moment one serves, and the others have lost for good") {
  ScriptedMesh mesh;
  mesh.claim('a');
  mesh.claim('b');
  mesh.claim('c');
  mesh.run(4'000);
  CHECK(mesh.serving().size() == 1);
  CHECK(mesh.verdicts('a') == Verdicts{Verdict::conflicted, Verdict::conflicted, Verdict::live});
  CHECK(mesh.disagreement() == "");
}

TEST_CASE("a claim waits for a candidate that has not agreed, until that one has been silent for W") {
  ScriptedMesh mesh({.apart = true});
  mesh.stall('c', 'a');
  mesh.stall('c', 'b');
  mesh.claim('a');
  mesh.run(silence_ms(8'000) - 1'500);
  CHECK(mesh.serving() == "");
  REQUIRE(mesh.view('a').waits_for.size() == 1);
  CHECK(mesh.view('a').waits_for[0].node == mesh.at('c').node());
  CHECK(mesh.comes_to("a", 3'000));
}

TEST_CASE("a claim waits for a candidate whose kernel does not follow") {
  ScriptedMesh mesh;
  mesh.at('c').refuse_holders(true);
  mesh.claim('a');
  mesh.run(4'000);
  CHECK(mesh.serving() == "");
  mesh.at('c').refuse_holders(false);
  CHECK(mesh.comes_to("a", 1'000));
}

TEST_CASE("a claim waits for a candidate whose kernel does not raise the fence") {
  ScriptedMesh mesh;
  mesh.at('c').refuse_fences(true);
  mesh.claim('a');
  mesh.run(4'000);
  CHECK(mesh.serving() == "");
  REQUIRE(mesh.view('a').waits_for.size() == 1);
  CHECK(mesh.view('a').waits_for[0].node == mesh.at('c').node());
}

TEST_CASE("who has agreed to one claim has not agreed to the next") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.release('a');
  mesh.run(5'000);
  REQUIRE(mesh.serving() == "");
  mesh.stall('a', 'c');
  mesh.stall('b', 'c');
  mesh.claim('a');
  mesh.run(4'000);
  CHECK(mesh.serving() == "");
  mesh.go_on();
  CHECK(mesh.comes_to("a", 2'000));
}

TEST_CASE("a candidate that slept claims nothing before it has heard what became of the resource") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.release('a');
  mesh.run(1'000);
  mesh.at('b').fall_asleep();
  mesh.isolate('b');
  mesh.claim('c');
  REQUIRE(mesh.comes_to("c", 15'000));
  mesh.automatic('b');
  mesh.at('b').wake_up();
  mesh.run(1'000);
  CHECK(mesh.holder('b') == "");
  CHECK(mesh.top_epoch('b') == Epoch(1));
  mesh.mend();
  mesh.run(3'000);
  CHECK(mesh.serving() == "c");
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::released, Verdict::live});
  CHECK(mesh.at('b').claims().conflicts().empty());
}

TEST_CASE("a claim that agreement was asked for before a sleep does not serve after it") {
  ScriptedMesh mesh;
  mesh.stall('c', 'a');
  mesh.claim('a');
  mesh.run(500);
  REQUIRE(mesh.top_epoch('b') == Epoch(1));
  mesh.at('a').fall_asleep();
  mesh.run(3'000);
  mesh.at('a').wake_up();
  mesh.go_on();
  CHECK(mesh.comes_to("a", 4'000));
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::released, Verdict::live});
  CHECK(mesh.kernel('a').fence == Epoch(2));
}

TEST_CASE(
    "the first of the candidates that live claims what is free, and no two of them get in each other's way") {
  ScriptedMesh mesh;
  mesh.at('a').kill();
  mesh.automatic('c');
  mesh.automatic('b');
  CHECK(mesh.comes_to("b", 20'000));
  CHECK(mesh.verdicts('c') == Verdicts{Verdict::live});
}

TEST_CASE("what a beat tells of is not claimed before the event has come") {
  ScriptedMesh mesh({.apart = true});
  mesh.cut('a', 'b');
  // Beats are relayed by c, and events are not: its journal takes nothing.
  mesh.at('c').poison();
  REQUIRE(mesh.at('c').claims().claim(kOther));
  mesh.run(500);
  mesh.claim('a');
  mesh.run(300);
  mesh.automatic('b');
  mesh.run(5'000);
  CHECK(mesh.top_epoch('b') == Epoch());
  CHECK(mesh.view('b').why == "gateway a knows of a claim that has not come yet");
  mesh.mend();
  mesh.run(2'000);
  CHECK(mesh.holder('b') == "a");
  CHECK(mesh.at('b').claims().conflicts().empty());
}

TEST_CASE("thousands of claims share their flushes, and one candidate has them all") {
  ScriptedMesh mesh;
  constexpr std::uint32_t kMany = 600;
  mesh.add_resources(10, kMany);
  for (const char gateway : {'a', 'b', 'c'})
    mesh.automatic(gateway);
  const std::uint64_t before = mesh.at('a').writes();
  mesh.run(8'000);
  std::size_t held = 0;
  for (const claims::ResourceView& view : mesh.at('c').claims().resources())
    if (view.standing == claims::Standing::held && view.top->author == mesh.at('a').node()) ++held;
  CHECK(held == kMany + 2);
  CHECK(mesh.at('a').writes() - before < kMany / 16);
  CHECK(mesh.at('c').claims().conflicts().empty());
  CHECK(mesh.at('b').writes() == 0);
}

TEST_CASE("a candidate waits as long as one before it is at claiming") {
  ScriptedMesh mesh;
  mesh.add_resources(10, 4);
  mesh.automatic('b');
  for (const std::uint32_t number : {10, 11, 12, 13}) {
    REQUIRE(mesh.at('a').claims().claim(ResourceNumber(number)));
    mesh.run(1'500);
    CHECK(mesh.holder('c') == "");
  }
  CHECK(mesh.comes_to("b", 4'000));
}

TEST_CASE("what one releases the next one serves, and nothing is announced") {
  ScriptedMesh mesh;
  mesh.automatic('b');
  mesh.automatic('a');
  REQUIRE(mesh.comes_to("a", 3'000));
  mesh.release('a');
  CHECK(mesh.comes_to("b", 1'500));
  CHECK(mesh.at('c').claims().conflicts().empty());
  mesh.run(10'000);
  CHECK(mesh.serving() == "b");
}

TEST_CASE("gateways that reach each other through a third alone agree, and miss each other's beats") {
  ScriptedMesh mesh;
  mesh.cut('a', 'c');
  mesh.claim('a');
  REQUIRE(mesh.comes_to("a", 3'000));
  mesh.run(20'000);
  REQUIRE(mesh.serving() == "a");
  CHECK(mesh.disagreement() == "");
  mesh.automatic('c');
  mesh.at('a').freeze(true);
  CHECK(mesh.comes_to("c", 16'000));
}

TEST_CASE("who is not heard any more over a link that is up is heard through another gateway") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.automatic('c');
  mesh.stall('a', 'c');
  mesh.run(20'000);
  CHECK(mesh.serving() == "a");
  CHECK(mesh.top_epoch('c') == Epoch(1));
  CHECK(mesh.disagreement() == "");
}

TEST_CASE("a gateway whose journal takes nothing says all the same whom it does not hear any more") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.at('c').poison();
  REQUIRE(mesh.at('c').claims().claim(kOther));
  mesh.run(1'000);
  mesh.stall('a', 'c');
  mesh.run(20'000);
  CHECK(mesh.kernel('c').deadline_boot_ns > mesh.at('c').boot_ns());
}

TEST_CASE("a candidate that a snapshot dropped stops at once, and another one takes its place") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.automatic('b');
  ledger::Roster::Entry& door = mesh.roster().resources.at(kDoor);
  door.candidates.erase(door.candidates.begin());
  door.former.insert(mesh.at('a').node());
  mesh.follow_roster();
  CHECK(mesh.serving() == "");
  CHECK(mesh.comes_to("b", 2'000));
  CHECK(mesh.kernel('a').fence == Epoch(2));
}

TEST_CASE("a floor that is raised while a claim waits ends the claim, and the next one is above it") {
  ScriptedMesh mesh;
  mesh.stall('c', 'a');
  mesh.claim('a');
  mesh.run(300);
  mesh.roster().resources.at(kDoor).floor = Epoch(7);
  mesh.follow_roster();
  mesh.go_on();
  CHECK(mesh.comes_to("a", 3'000));
  CHECK(mesh.verdicts('c') == Verdicts{Verdict::below_floor, Verdict::live});
  CHECK(mesh.kernel('c').fence == Epoch(8));
}

TEST_CASE("whom a snapshot gives a shorter TTL is waited for by the TTL of its claim") {
  ScriptedMesh mesh({.ttl_ms = 60'000});
  mesh.a_serves();
  mesh.roster().resources.at(kDoor).ttl_ms = 8'000;
  mesh.follow_roster();
  mesh.automatic('b');
  mesh.at('a').freeze(true);
  mesh.run(45'000);
  CHECK(mesh.serving() == "a");
  CHECK(mesh.top_epoch('b') == Epoch(1));
  CHECK(mesh.comes_to("b", 40'000));
}
