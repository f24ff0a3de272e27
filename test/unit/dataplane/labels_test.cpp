// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "dataplane/counters.h"

namespace postern::dataplane {

TEST_CASE("verdicts and reasons have their own labels, and unknown numbers have none") {
  CHECK(verdict_label(PT_VERDICT_ENCAPSULATED) == "encapsulated");
  CHECK(verdict_label(PT_VERDICT_COUNT) == "");
  CHECK(drop_label(PT_DROP_UNTUNNELLED) == "untunnelled");
  CHECK(drop_label(PT_DROP_NONE) == "");
  CHECK(drop_label(PT_DROP_REASON_COUNT) == "");
  CHECK(drop_help(PT_DROP_NONE) == "");
  std::set<std::string_view> labels;
#define PT_X(number, name, label, help)   \
  CHECK(drop_label(number) == label);     \
  CHECK_FALSE(drop_help(number).empty()); \
  CHECK(labels.insert(label).second);
  PT_DROP_REASONS(PT_X)
#undef PT_X
  CHECK_FALSE(labels.contains(""));
}

}  // namespace postern::dataplane
