// SPDX-License-Identifier: Apache-2.0
#include "wire/fields.h"

#include <doctest/doctest.h>

#include "unit/outcome.h"

using namespace postern;
using namespace postern::wire;
using namespace postern::testing;

namespace {

Json sample() {
  return Json::object(
      {{"b", true}, {"count", "18446744073709551615"}, {"l", Json::array({Json(1)})}, {"n", 7}, {"t", "x"}});
}

}  // namespace

TEST_CASE("members are read by type, in any order") {
  const Json object = sample();
  Fields fields(object, "");
  CHECK(fields.text("t") == "x");
  CHECK(fields.integer("n", 0, 7) == 7);
  CHECK(fields.boolean("b"));
  CHECK(fields.array("l").size() == 1);
  CHECK(fields.decimal("count") == UINT64_MAX);
  CHECK(fields.optional("none") == nullptr);
  CHECK(outcome(fields.finish()) == "ok");
}

TEST_CASE("a member that nobody asked for is refused by name") {
  const Json object = sample();
  Fields fields(object, "peers[3]");
  for (const std::string_view key : {"b", "count", "l", "n"})
    fields.any(key);
  CHECK(outcome(fields.finish()) == "json.field_unknown");
  CHECK(says(fields.finish(), "peers[3].t "));
}

TEST_CASE("a member beyond the 64th is refused too when nobody asked for it") {
  Json object = Json::object();
  for (int i = 0; i < 130; ++i)
    object.set("k" + std::to_string(i), i);
  Fields most(object, "");
  for (int i = 0; i < 129; ++i)
    CHECK(most.integer("k" + std::to_string(i), i, i) == i);
  CHECK(says(most.finish(), "k129 "));
  CHECK(most.integer("k129", 0, 129) == 129);
  CHECK(outcome(most.finish()) == "ok");
}

TEST_CASE("a missing member is named with its path, and the first error sticks") {
  const Json inner = Json::object();
  const Json outer = Json::object({{"list", Json::array({inner})}});
  const Fields parent(outer, "");
  Fields fields(inner, parent, "list", 0);
  fields.text("id");
  fields.text("other");
  CHECK(outcome(fields.finish()) == "json.field_missing");
  CHECK(context(fields.finish()) == "list[0].id is missing");
}

TEST_CASE("a value of another type, or out of range, is refused with what was found") {
  const Json object = sample();
  const auto complaint = [&object](auto read) {
    Fields fields(object, "p");
    read(fields);
    CHECK(outcome(fields.finish()) == "json.field_invalid");
    return context(fields.finish());
  };
  CHECK(complaint([](Fields& f) { f.text("n"); }) == "p.n is 7, expected a string");
  CHECK(complaint([](Fields& f) { f.integer("t", 0, 1); }) ==
        "p.t is \"x\", expected an integer from 0 to 1");
  CHECK(complaint([](Fields& f) { f.integer("n", 0, 6); }) == "p.n is 7, expected an integer from 0 to 6");
  CHECK(complaint([](Fields& f) { f.integer("n", 8, 9); }) == "p.n is 7, expected an integer from 8 to 9");
  CHECK(complaint([](Fields& f) { f.boolean("l"); }) == "p.l is an array, expected true or false");
  CHECK(complaint([](Fields& f) { f.array("b"); }) == "p.b is a boolean, expected an array");
  complaint([](Fields& f) { f.decimal("n"); });
  complaint([](Fields& f) { f.reject("t", "is odd"); });
}

TEST_CASE("a decimal count with another spelling is refused") {
  for (const std::string_view text :
       {"", "00", "01", "+1", "-1", "1 ", " 1", "0x1", "18446744073709551616", "1e3"}) {
    CAPTURE(text);
    const Json object = Json::object({{"n", text}});
    Fields fields(object, "");
    fields.decimal("n");
    CHECK(outcome(fields.finish()) == "json.field_invalid");
  }
}

TEST_CASE("a value that is no object is refused, and reading from it is safe") {
  const Json number = 5;
  Fields fields(number, "peers[0]");
  CHECK(fields.text("id").empty());
  CHECK(fields.array("l").empty());
  CHECK(context(fields.finish()) == "peers[0] is 5, expected an object");
}
