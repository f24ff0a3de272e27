// SPDX-License-Identifier: Apache-2.0
// How long a claim serves that does: who was away, has lost, was killed or cannot write stops, and is not
// back under its old epoch (SPEC 10.5, 10.6).
#include <doctest/doctest.h>

#include <utility>

#include "claims/timing.h"
#include "sim/stories/scripted_mesh.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::testing;
using ledger::Verdict;
using Verdicts = std::vector<Verdict>;

namespace {

// Delivery, and what the longest way to agree takes beside it.
constexpr std::uint64_t kOverlapEnds_ms = 4'000;

}  // namespace

TEST_CASE("a frozen holder whose clock is slow stops before its successor whose clock is fast begins") {
  ScriptedMesh mesh({.ttl_ms = 60'000, .rates_permille = {900, 1100, 1100}});
  mesh.a_serves();
  mesh.automatic('b');
  mesh.at('a').freeze(true);
  mesh.run(55'000);
  CHECK(mesh.top_epoch('b') == Epoch(1));
  CHECK(mesh.comes_to("", 15'000));
  CHECK(mesh.comes_to("b", 30'000));
}

TEST_CASE("a gateway that slept does not take for dead whom it could not hear") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.at('b').fall_asleep();
  mesh.isolate('b');
  mesh.run(30'000);
  mesh.automatic('b');
  mesh.at('b').wake_up();
  mesh.run(3'000);
  mesh.mend();
  mesh.run(5'000);
  CHECK(mesh.serving() == "a");
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::live});
}

TEST_CASE("an agent that was stopped for a while does not take for dead whom it could not hear") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.at('b').freeze(true);
  mesh.isolate('b');
  mesh.run(30'000);
  mesh.automatic('b');
  mesh.at('b').freeze(false);
  mesh.run(3'000);
  mesh.mend();
  mesh.run(5'000);
  CHECK(mesh.serving() == "a");
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::live});
}

TEST_CASE("a holder that was frozen past its deadline gives its claim up, and claims anew") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.at('a').freeze(true);
  mesh.run(7'000);
  CHECK(mesh.serving() == "");
  mesh.at('a').freeze(false);
  mesh.run(3'000);
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::released, Verdict::live});
  CHECK(mesh.kernel('a').fence == Epoch(2));
  CHECK(mesh.disagreement() == "");
}

TEST_CASE("an agent that is back before its deadline holds on under the same epoch, without a break") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.at('a').kill();
  for (int i = 0; i < 20; ++i) {
    mesh.run(100);
    CHECK(mesh.serving() == "a");
  }
  mesh.at('a').start();
  for (int i = 0; i < 200; ++i) {
    mesh.run(100);
    CHECK(mesh.serving() == "a");
  }
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::live});
}

TEST_CASE("an agent that is back after its deadline does not serve under its old epoch") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.at('a').kill();
  mesh.run(7'000);
  mesh.at('a').start();
  mesh.run(3'000);
  CHECK(mesh.serving() == "");
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::released});
}

TEST_CASE("a host that lost its power serves nothing that it held") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.at('a').cut_power();
  mesh.oracle().forget_kernel("a");
  mesh.run(1'000);
  mesh.at('a').start();
  mesh.run(3'000);
  CHECK(mesh.serving() == "");
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::released});
}

TEST_CASE("a holder whose journal takes nothing stops at once and is not heard any more") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.automatic('b');
  mesh.at('a').poison();
  REQUIRE(mesh.at('c').claims().claim(kOther));
  CHECK(mesh.comes_to("", 1'500));
  CHECK(mesh.comes_to("b", 16'000));
}

TEST_CASE("a spent claim whose release cannot be written yet is not armed again, whatever else changes") {
  ScriptedMesh mesh;
  mesh.a_serves();
  mesh.at('a').refuse_writes(true);
  mesh.at('a').freeze(true);
  mesh.run(7'000);
  mesh.at('a').freeze(false);
  mesh.run(1'000);
  // A release by another node does not count, but it is of this resource.
  const ledger::Claim claim = *mesh.view('b').top;
  const std::vector<ledger::Draft> stranger{
      ledger::draft_of(ledger::ClaimReleased{kDoor, claim.token.claim, claim.session})};
  REQUIRE(mesh.at('b').write(stranger, Lamport()));
  mesh.run(3'000);
  CHECK(mesh.serving() == "");
  CHECK(mesh.verdicts('b') == Verdicts{Verdict::live});
}

TEST_CASE("who served apart from the others and has lost stops soon after they met") {
  ScriptedMesh mesh({.apart = true});
  mesh.a_serves();
  mesh.automatic('b');
  mesh.isolate('a');
  CHECK(mesh.comes_to("a+b", 20'000));
  mesh.run(5'000);
  mesh.mend();
  const std::uint64_t healed_ms = mesh.now_ms();
  mesh.run(kOverlapEnds_ms + 2'000);
  CHECK(mesh.serving() == "b");
  CHECK(mesh.overlap_ended_ms() <= healed_ms + kOverlapEnds_ms);
  CHECK(mesh.verdicts('a') == Verdicts{Verdict::conflicted, Verdict::live});
  for (const char gateway : {'a', 'b', 'c'})
    CHECK(mesh.at(gateway).claims().conflicts().size() == 1);
}

TEST_CASE("of two claims under one epoch the second one does not serve until its own holder was heard") {
  bool second_won = false;
  for (int mesh_number = 0; mesh_number < 20 && !second_won; ++mesh_number) {
    ScriptedMesh mesh({.rates_permille = {1000, 1000, 1000, 1000}, .apart = true});
    // a and c are apart from b and d.
    for (const auto& [one, other] : {std::pair('a', 'b'), {'a', 'd'}, {'c', 'b'}, {'c', 'd'}})
      mesh.cut(one, other);
    mesh.run(12'000);
    mesh.claim('a');
    REQUIRE(mesh.comes_to("a", 2'000));
    mesh.stall('d', 'b');
    mesh.claim('b');
    mesh.run(500);
    const auto token = [&](char gateway) {
      return mesh.at(gateway).replica().fold().claims().top(kDoor)->token;
    };
    REQUIRE(token('a').epoch == token('b').epoch);
    // Whose token is higher is chance.
    second_won = token('a') < token('b');
    if (!second_won) continue;
    REQUIRE(mesh.kernel('c').deadline_boot_ns > mesh.at('c').boot_ns());
    mesh.mend('b', 'c');
    mesh.run(2'000);
    REQUIRE(mesh.kernel('c').holder->node == mesh.at('b').node());
    CHECK(mesh.kernel('c').deadline_boot_ns == 0);
  }
  CHECK(second_won);
}

TEST_CASE("a gateway that gets an old disk back is heard all the same, and forks nothing that counts") {
  ScriptedMesh mesh({.apart = true});
  mesh.at('a').take_image();
  for (int starts = 0; starts < 3; ++starts) {
    mesh.at('a').kill();
    mesh.at('a').start();
    mesh.run(1'000);
  }
  mesh.claim('a');
  REQUIRE(mesh.comes_to("a", 3'000));
  mesh.at('a').lay_back_image();
  mesh.oracle().forget_kernel("a");
  mesh.oracle().forget_claims("a");
  mesh.at('a').start();
  mesh.run(5'000);
  for (const claims::NodeView& node : mesh.at('b').claims().nodes())
    if (node.node == mesh.at('a').node()) CHECK(node.silent_ns < 2 * claims::kBeat_ns);
  mesh.automatic('b');
  CHECK(mesh.comes_to("b", 20'000));
  CHECK(mesh.top_epoch('a') > Epoch(1));
}

TEST_CASE("an epoch that a fork took back is a floor for all that accepted it") {
  ScriptedMesh mesh({.apart = true});
  mesh.at('a').take_image();
  mesh.a_serves();
  mesh.at('a').lay_back_image();
  mesh.oracle().forget_kernel("a");
  mesh.oracle().forget_claims("a");
  mesh.isolate('a');
  mesh.at('a').start();
  mesh.run(13'000);
  mesh.claim('a');
  REQUIRE(mesh.comes_to("a", 20'000));
  mesh.mend();
  mesh.run(5'000);
  CHECK(mesh.at('c').replica().fold().claims().floor(kDoor) == Epoch(1));
  CHECK(mesh.verdicts('c') == Verdicts{Verdict::live});
  CHECK(mesh.kernel('c').fence == Epoch(2));
  CHECK(mesh.disagreement() == "");
}
