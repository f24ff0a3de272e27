// SPDX-License-Identifier: Apache-2.0
#include "ledger/continuity.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ledger/restraint.h"

namespace postern::ledger {
namespace {

constexpr Continuation kNew{false, true, true};

}  // namespace

TEST_CASE("a level pin proves everything, so the stream goes on and its reserves are known") {
  ContinuityEvidence evidence;
  evidence.pinned = true;
  evidence.alone = false;
  CHECK(decide_continuation(evidence) == Continuation{true, false, false});
}

TEST_CASE("a lone gateway keeps its stream without a pin, and what it had reserved is spent") {
  CHECK(decide_continuation({}) == Continuation{true, true, false});
}

TEST_CASE("a gateway whose events others hold needs the pin, or a clean stop and their marks") {
  ContinuityEvidence evidence;
  evidence.alone = false;
  CHECK(decide_continuation(evidence) == kNew);
  evidence.clean_stop = true;
  CHECK(decide_continuation(evidence) == kNew);
  evidence.marks = Standing::level;
  CHECK(decide_continuation(evidence) == Continuation{true, true, false});
  evidence.clean_stop = false;
  CHECK(decide_continuation(evidence) == kNew);
}

TEST_CASE("a journal that says its stream is broken is never gone on with, whatever else speaks for it") {
  for (const bool pinned : {false, true}) {
    for (const bool alone : {false, true}) {
      ContinuityEvidence evidence{true, pinned, true, alone, Standing::level};
      CHECK(decide_continuation(evidence) == kNew);
    }
  }
}

TEST_CASE(
    "a finding breaks the stream that was opened before it, and no later one, and a torn end breaks none") {
  for (const std::string condition : {"suspect", "adopted", "went_back", "repaired", "of a later version"}) {
    const std::vector<Finding> findings = {{Lseq(5), "torn", Lseq(5), 0}, {Lseq(9), condition, Lseq(9), 0}};
    CHECK_FALSE(why_broken(findings, {}, Lseq(8)).empty());
    CHECK(why_broken(findings, {}, Lseq(10)).empty());
    CHECK(why_broken({findings.data(), 1}, {}, Lseq(1)).empty());
  }
}

TEST_CASE("records that were lost from a stream break it until they are known again") {
  const std::vector<Gap> gaps = {{Lseq(3), Lseq(6), true}};
  CHECK_FALSE(why_broken({}, gaps, Lseq(5)).empty());
  CHECK(why_broken({}, gaps, Lseq(6)).empty());
  const std::vector<Gap> closed = {{Lseq(3), Lseq(6), false}};
  CHECK(why_broken({}, closed, Lseq(5)).empty());
}

TEST_CASE("marks that know more, or otherwise, outweigh the pin") {
  for (const Standing standing : {Standing::behind, Standing::forked}) {
    ContinuityEvidence evidence{false, true, true, false, standing};
    CHECK(decide_continuation(evidence) == kNew);
  }
}

TEST_CASE(
    "a restrained gateway neither spends nor claims until a round is done; an operator may free the budget "
    "only") {
  CHECK(Restraint().may_spend());
  CHECK(Restraint().may_claim());
  Restraint restraint("its disk went back");
  CHECK_FALSE(restraint.may_spend());
  CHECK_FALSE(restraint.may_claim());
  restraint.operator_allows_spending();
  CHECK(restraint.may_spend());
  CHECK_FALSE(restraint.may_claim());
  CHECK(restraint.why() == "its disk went back");
  const Restraint later = Restraint::of_claims("given up");
  CHECK(later.may_spend());
  CHECK_FALSE(later.may_claim());
  CHECK(later.why() == "given up");
  restraint.round_done();
  CHECK(restraint.may_claim());
  CHECK(restraint.why().empty());
}

}  // namespace postern::ledger
