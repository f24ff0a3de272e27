// SPDX-License-Identifier: Apache-2.0
#include "wire/json_record.h"

#include <doctest/doctest.h>

#include "unit/outcome.h"

using namespace postern;
using namespace postern::wire;
using namespace postern::testing;

namespace {

struct Row {
  std::int64_t a = 0;
  std::string b;
  bool c = false;
};

// {"a":0..9,"b"?:text,"c"?:{"d":decimal}}
Result<Row> read(std::string_view text) {
  JsonCursor cursor(text, 1U << 20);
  JsonRecord record(cursor);
  Row out;
  out.a = record.integer("a", 0, 9);
  if (record.has("b")) out.b = record.text_here("b");
  if (record.has("c")) {
    JsonRecord inner(record, "c");
    out.c = inner.decimal("d") == 7;
    inner.finish();
  }
  record.finish();
  if (Result<> done = cursor.finish(); !done) return pass_on(std::move(done));
  return out;
}

}  // namespace

TEST_CASE("a record's members are read in order, and the optional ones may be absent") {
  const Result<Row> all = read(R"({"a":1,"b":"x\n","c":{"d":"7"}})");
  REQUIRE(all);
  CHECK((all->a == 1 && all->b == "x\n" && all->c));
  CHECK(outcome(read(R"({"a":1})")) == "ok");
  CHECK(outcome(read(R"({"a":1,"c":{"d":"7"}})")) == "ok");
}

TEST_CASE("a record's absent, unknown and misshapen members are refused with their paths") {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{}", "a is missing"},
      {R"({"b":""})", "a is missing"},
      {R"({"a":1,"c":{}})", "c.d is missing"},
      {R"({"A":1,"a":1})", "A is not known here"},
      {R"({"a":1,"aa":1})", "aa is not known here"},
      {R"({"a":1,"c":{"d":"7"},"e":1})", "e is not known here"},
      {R"({"a":1,"c":{"d":"7","e":{}}})", "c.e is not known here"},
      {R"({"a":10})", "a is 10, expected an integer from 0 to 9"},
      {R"({"a":"1"})", "a is \"1\", expected an integer"},
      {R"({"a":1,"b":[]})", "b is an array, expected a string"},
      {R"({"a":1,"c":null})", "c is null, expected an object"},
      {R"({"a":1,"c":{"d":"07"}})", "c.d is \"07\", expected a 64-bit count"},
      {R"({"a":1,"c":{"d":7}})", "c.d is 7, expected a 64-bit count"},
      {"[]", "the document is an array, expected an object"}};
  for (const auto& [text, complaint] : cases) {
    CAPTURE(text);
    CHECK(says(read(text), complaint));
  }
}

TEST_CASE("what departs from canonical JSON is said before what the record lacks") {
  CHECK(outcome(read(R"({"a": 1})")) == "json.white_space");
  CHECK(outcome(read(R"({"a":1,"a":1})")) == "json.duplicate_key");
  CHECK(outcome(read(R"({"a":1}x)")) == "json.trailing_bytes");
  CHECK(outcome(read("{")) == "json.syntax");
}
