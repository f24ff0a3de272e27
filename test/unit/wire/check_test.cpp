// SPDX-License-Identifier: Apache-2.0
#include "wire/check.h"

#include <doctest/doctest.h>

using namespace postern;
using namespace postern::wire;

TEST_CASE("a check reads back as it was told") {
  for (const Check& check :
       {check_ok("a", "fine"), check_warn("b.c", "so so", "look"), check_fail("d", "bad", "mend")})
    CHECK(parse_check(check_json(check)) == check);
}

TEST_CASE("what another version tells is a warning, never an ok") {
  const Check newer =
      parse_check(Json::object({{"name", "x"}, {"status", "fatal"}, {"found", "y"}, {"more", 1}}));
  CHECK(newer.status == CheckStatus::warn);
  CHECK(newer.name == "x");
  CHECK(newer.found.find("fatal") != std::string::npos);
  CHECK(parse_check(Json::object({{"status", "ok"}})).status == CheckStatus::warn);
  CHECK(parse_check(Json(1)).status == CheckStatus::warn);
}
