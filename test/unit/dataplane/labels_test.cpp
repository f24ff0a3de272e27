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
  for (unsigned reason = PT_DROP_NONE + 1; reason < PT_DROP_REASON_COUNT; ++reason) {
    CHECK_FALSE(drop_help(reason).empty());
    labels.insert(drop_label(reason));
  }
  CHECK(labels.size() == PT_DROP_REASON_COUNT - 1);
  CHECK_FALSE(labels.contains(""));
}

}  // namespace postern::dataplane
