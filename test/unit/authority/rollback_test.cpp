// SPDX-License-Identifier: Apache-2.0
#include "authority/rollback.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/authority/authority_desk.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;

namespace {

// Two peers and two gateways, all active.
Snapshot everybody() {
  Snapshot out = sample_snapshot();
  out.gateways[1].state = State::active;
  out.peers[0].state = State::active;
  out.peers.push_back(out.peers[0]);
  out.peers[1].id = "site-c";
  return out;
}

std::vector<std::string> active_nodes(const Snapshot& snapshot) {
  std::vector<std::string> out;
  for (const Gateway& gateway : snapshot.gateways)
    if (gateway.state == State::active) out.push_back(gateway.id);
  for (const Peer& peer : snapshot.peers)
    if (peer.state == State::active) out.push_back(peer.id);
  return out;
}

}  // namespace

TEST_CASE("a rollback lets nobody back in whom the newer snapshot revoked or removed") {
  const Snapshot kept = everybody();
  Snapshot newest = everybody();
  CHECK(rolled_back(kept, newest) == kept);
  newest.peers[0].state = State::revoked;
  newest.gateways[1].state = State::revoked;
  CHECK(active_nodes(rolled_back(kept, newest)) == std::vector<std::string>{"gw1", "site-c"});
  newest.peers.erase(newest.peers.begin());
  newest.gateways.erase(newest.gateways.begin() + 1);
  CHECK(active_nodes(rolled_back(kept, newest)) == std::vector<std::string>{"gw1", "site-c"});
  newest.peers.clear();
  CHECK(active_nodes(rolled_back(kept, newest)) == std::vector<std::string>{"gw1"});
}

TEST_CASE("a rollback does not let in whom the older snapshot had revoked") {
  Snapshot kept = everybody();
  kept.peers[1].state = State::revoked;
  CHECK(active_nodes(rolled_back(kept, everybody())) == std::vector<std::string>{"gw1", "gw2", "site-b"});
}

TEST_CASE("a rollback keeps the floors of the newer snapshot, and the rest of the older one") {
  Snapshot newest = everybody();
  newest.epoch_floors[1].epoch = Epoch(99);
  newest.rules.clear();
  const Snapshot out = rolled_back(everybody(), newest);
  CHECK(out.epoch_floors == newest.epoch_floors);
  CHECK(out.rules == everybody().rules);
}

TEST_CASE("there is no way back across a root change, nor past an expiry") {
  AuthorityDesk desk;
  const Candidate kept = desk.candidate(desk.root());
  desk.issue_next();
  const Candidate newest = desk.candidate(desk.root());
  const UtcSeconds last_second(kept.snapshot.expires.value - 1);
  CHECK(outcome(may_roll_back(kept, newest, last_second)) == "ok");
  CHECK(outcome(may_roll_back(kept, newest, kept.snapshot.expires)) == "rollback.refused");
  const Root before = desk.root();
  desk.rotate();
  CHECK(outcome(may_roll_back(newest, desk.candidate(before), last_second)) == "rollback.refused");
}
