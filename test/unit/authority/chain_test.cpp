// SPDX-License-Identifier: Apache-2.0
#include "authority/chain.h"

#include <doctest/doctest.h>

#include "unit/authority/authority_desk.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;

TEST_CASE("a gateway that slept through two root changes catches up from a bundle") {
  AuthorityDesk desk;
  const Adopted asleep_at = desk.adopted();
  Files files;
  files.add(desk).add(desk.rotate()).add(desk.issue_next()).add(desk.rotate()).add(desk.issue_next());
  const std::string bundle = files.bundle();
  const Result<Chain> chain = follow_chain(bundle, asleep_at.root, "demo", asleep_at);
  REQUIRE_MESSAGE(chain, context(chain));
  CHECK(chain->last.snapshot == desk.snapshot());
  CHECK(chain->file == files.files.back().second);
  REQUIRE(chain->base);
  CHECK(chain->base->root == desk.root());
  CHECK(outcome(may_adopt(chain->last, chain->base, desk.snapshot().issued)) == "ok");
  // Alone, the newest one is a stranger's.
  CHECK(outcome(follow_chain(files.files.back().second, asleep_at.root, "demo", asleep_at)) ==
        "snapshot.threshold");
}

TEST_CASE("a gateway without a snapshot follows a bundle from its trust anchor") {
  AuthorityDesk desk;
  const Root anchor = desk.root();
  Files files;
  files.add(desk).add(desk.rotate());
  const std::string bundle = files.bundle();
  CHECK(follow_chain(bundle, anchor, "demo", std::nullopt).value().last.snapshot == desk.snapshot());
}

TEST_CASE("a chain that leaves out a root change, or the step before one, is refused") {
  AuthorityDesk desk;
  const Adopted asleep_at = desk.adopted();
  Files whole;
  whole.add(desk.issue_next()).add(desk.rotate()).add(desk.rotate());
  Files gap = whole;
  gap.files.erase(gap.files.begin() + 1);
  const std::string without_change = gap.bundle();
  CHECK(outcome(follow_chain(without_change, asleep_at.root, "demo", asleep_at)) == "snapshot.threshold");

  gap = whole;
  gap.files.erase(gap.files.begin());
  const std::string without_step = gap.bundle();
  CHECK(outcome(follow_chain(without_step, asleep_at.root, "demo", asleep_at)) == "snapshot.root_change");
}

TEST_CASE("each step of a chain needs both thresholds when it changes the root") {
  AuthorityDesk desk;
  const Adopted asleep_at = desk.adopted();
  const wire::SecretKey stranger = wire::SecretKey::generate();
  Snapshot stolen = desk.issue_next().snapshot();
  stolen.root = {1, {stranger.public_key()}};
  const std::string by_old = AuthorityDesk::seal(stolen, desk.key());
  const std::string by_new = AuthorityDesk::seal(stolen, stranger);
  Snapshot after = stolen;
  after.serial = after.serial.next();
  const std::string last = AuthorityDesk::seal(after, stranger);
  for (const auto& [step, code] :
       {std::pair{by_old, "snapshot.root_change"}, {by_new, "snapshot.threshold"}}) {
    const std::string bundle =
        seal_bundle(std::vector<BundleEntry>{{stolen.serial, step}, {after.serial, last}});
    CHECK(outcome(follow_chain(bundle, asleep_at.root, "demo", asleep_at)) == code);
  }
}

TEST_CASE("expired steps lead on, but the last one is judged by the clock") {
  AuthorityDesk desk;
  const Adopted asleep_at = desk.adopted();
  Files files;
  files.add(desk.rotate());
  desk.issue_next().change().expires = parse_utc("2030-01-01T00:00:00Z").value();
  files.add(desk);
  const std::string bundle = files.bundle();
  const Chain chain = follow_chain(bundle, asleep_at.root, "demo", asleep_at).value();
  CHECK(outcome(may_adopt(chain.last, chain.base, parse_utc("2029-01-01T00:00:00Z").value())) == "ok");
  CHECK(outcome(may_adopt(chain.last, chain.base, parse_utc("2031-01-01T00:00:00Z").value())) ==
        "snapshot.expired");
}

TEST_CASE("floors never fall along a chain") {
  AuthorityDesk desk;
  const Adopted asleep_at = desk.adopted();
  desk.issue_next().change().epoch_floors[1].epoch = Epoch(5);
  Files files;
  files.add(desk);
  desk.issue_next().change().epoch_floors[1].epoch = Epoch(4);
  files.add(desk).add(desk.issue_next());
  const std::string bundle = files.bundle();
  const Result<Chain> chain = follow_chain(bundle, asleep_at.root, "demo", asleep_at);
  CHECK(outcome(chain) == "snapshot.floor_fell");
  CHECK(says(chain, "serial 9 of the bundle"));
}

TEST_CASE("a bundle that lies about a serial, or holds nothing new, is refused") {
  AuthorityDesk desk;
  const std::string old = desk.file();
  const Adopted adopted = desk.adopted();
  desk.issue_next();
  const std::string file = desk.file();
  const std::string lie = seal_bundle(std::vector<BundleEntry>{{Serial(90), file}});
  CHECK(outcome(follow_chain(lie, adopted.root, "demo", adopted)) == "bundle.malformed");
  const std::string nothing_new = seal_bundle(std::vector<BundleEntry>{{adopted.serial, old}});
  CHECK(outcome(follow_chain(nothing_new, adopted.root, "demo", adopted)) == "snapshot.rollback");
}
