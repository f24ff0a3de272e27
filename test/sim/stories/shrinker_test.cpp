// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/shrinker.h"

#include <doctest/doctest.h>

namespace postern::sim {
namespace {

// A life of 20 troubles, two more when it is spared the first one; it ends badly when 3 and 17 befall it.
Outcome retell(const std::set<Trouble>& spared) {
  Outcome out;
  const Trouble last = spared.count(0) != 0 ? 22 : 20;
  for (Trouble trouble = 0; trouble < last; ++trouble)
    if (spared.count(trouble) == 0) out.troubles.push_back(trouble);
  if (spared.count(3) == 0 && spared.count(17) == 0) out.violation = "wrong";
  return out;
}

}  // namespace

TEST_CASE("of a life's troubles those are left without which it would end well") {
  const Shrunk shrunk = shrink(retell);
  CHECK(shrunk.outcome.violation == "wrong");
  CHECK(shrunk.outcome.troubles == std::vector<Trouble>{3, 17});
  CHECK(retell(shrunk.spared).troubles == shrunk.outcome.troubles);
}

TEST_CASE("a life that ends well has nothing to shrink") {
  const Shrunk shrunk = shrink([](const std::set<Trouble>&) { return Outcome{"", {1, 2, 3}}; });
  CHECK(shrunk.outcome.violation.empty());
  CHECK(shrunk.lives == 1);
}

}  // namespace postern::sim
