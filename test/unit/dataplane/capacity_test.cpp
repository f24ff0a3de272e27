// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "dataplane/errors.h"
#include "dataplane/tables.h"
#include "support/small_tables.h"

namespace postern::dataplane {

TEST_CASE("tables that fit to the last row are accepted") {
  Tables tables = testing::small_tables(1);
  CHECK(check_capacity(tables));
  tables.segments.resize(PT_MAX_SEGMENTS);
  tables.ports.resize(PT_MAX_PORTS);
  tables.peers.resize(PT_MAX_PEERS);
  CHECK(check_capacity(tables));
}

TEST_CASE("one row too many is refused, naming table, need and limit") {
  Tables tables = testing::small_tables(1);
  std::string named;
  SUBCASE("ports") {
    tables.ports.resize(PT_MAX_PORTS + 1);
    named = "table ports needs 257 rows and has room for 256";
  }
  SUBCASE("segments") {
    tables.segments.resize(PT_MAX_SEGMENTS + 1);
    named = "table segments needs 257 rows and has room for 256";
  }
  SUBCASE("peers") {
    tables.peers.resize(PT_MAX_PEERS + 1);
    named = "table peers needs 131073 rows and has room for 131072";
  }
  SUBCASE("endpoints") {
    tables.endpoints.resize(PT_MAX_PEERS * PT_MAX_UNDERLAY_ADDRESSES + 1);
    named = "table endpoints needs 524289";
  }
  SUBCASE("owners4") {
    tables.owners4.resize(2 * PT_MAX_PREFIXES + 1);
    named = "table owners4 needs 2097153";
  }
  SUBCASE("owners6") {
    tables.owners6.resize(2 * PT_MAX_PREFIXES + 1);
    named = "table owners6 needs 2097153";
  }
  SUBCASE("policy") {
    tables.policy.resize(PT_MAX_POLICY_ROWS + 1);
    named = "table policy needs 1048577";
  }
  SUBCASE("port_classes") {
    tables.port_classes.pop_back();
    named = "table port_classes has 5119 lines";
  }
  const Result<> refused = check_capacity(tables);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::capacity);
  CHECK_MESSAGE(refused.error().context.find(named) != std::string::npos, refused.error().context);
}

}  // namespace postern::dataplane
