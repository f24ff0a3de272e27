// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "abi.h"
#include "authority/snapshot_check.h"
#include "unit/authority/sample_snapshot.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;

namespace {

// Fills `list` up to `count` entries with copies of its first, and sees it refused for that alone.
template <class List>
void refused_beyond(Snapshot& snapshot, List& list, std::size_t limit, const std::string& what) {
  list.resize(limit, list.front());
  CHECK(outcome(check_snapshot(snapshot, place_in_document)) != "snapshot.capacity");
  list.push_back(list.front());
  const Result<> result = check_snapshot(snapshot, place_in_document);
  CHECK(outcome(result) == "snapshot.capacity");
  CHECK(exit_code(result.error().code.kind) == 8);
  CHECK(says(result,
             "needs " + std::to_string(limit + 1) + " " + what + ", the limit is " + std::to_string(limit)));
}

}  // namespace

TEST_CASE("a snapshot with more of anything than fits is refused, naming what, need and limit") {
  Snapshot s = sample_snapshot();
  SUBCASE("gateways") {
    refused_beyond(s, s.gateways, kMaxGateways, "gateways");
  }
  SUBCASE("segments") {
    refused_beyond(s, s.segments, PT_MAX_SEGMENTS, "segments");
  }
  SUBCASE("peers") {
    refused_beyond(s, s.peers, PT_MAX_PEERS, "peers");
  }
  SUBCASE("resources") {
    refused_beyond(s, s.resources, PT_MAX_RESOURCES, "resources");
  }
  SUBCASE("rules") {
    refused_beyond(s, s.rules, PT_MAX_RULES, "rules");
  }
  SUBCASE("classes") {
    refused_beyond(s, s.classes, PT_MAX_CLASSES, "classes");
  }
}

TEST_CASE("prefixes are counted by family") {
  Snapshot s = sample_snapshot();
  const Prefix v4 = s.prefixes[0];
  const Prefix v6 = s.prefixes[1];
  s.prefixes.assign(PT_MAX_PREFIXES, v4);
  s.prefixes.push_back(v6);
  CHECK(outcome(check_snapshot(s, place_in_document)) == "snapshot.ownership");
  s.prefixes.push_back(v4);
  CHECK(says(check_snapshot(s, place_in_document), "needs 1048577 IPv4 prefixes, the limit is 1048576"));
  s.prefixes.assign(PT_MAX_PREFIXES + 1, v6);
  CHECK(says(check_snapshot(s, place_in_document), "needs 1048577 IPv6 prefixes, the limit is 1048576"));
}
