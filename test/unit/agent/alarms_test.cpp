// SPDX-License-Identifier: Apache-2.0
#include "agent/alarms.h"

#include <doctest/doctest.h>

using postern::agent::Alarms;
using Texts = std::vector<std::string>;

TEST_CASE("a problem is told once when it comes and once when it is gone") {
  Alarms alarms;
  CHECK(alarms.update({"a", "b"}).raised == Texts{"a", "b"});
  const Alarms::Change same = alarms.update({"b", "a"});
  CHECK(same.raised.empty());
  CHECK(same.cleared.empty());
  const Alarms::Change moved = alarms.update({"b", "c"});
  CHECK(moved.raised == Texts{"c"});
  CHECK(moved.cleared == Texts{"a"});
  CHECK(alarms.update({"a", "b", "c"}).raised == Texts{"a"});
}
