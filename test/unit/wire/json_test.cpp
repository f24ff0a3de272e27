// SPDX-License-Identifier: Apache-2.0
#include "wire/json.h"

#include <doctest/doctest.h>

#include <iterator>
#include <random>

#include "support/reference_json.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::wire;
using namespace postern::testing;

namespace {

constexpr std::size_t kLimit = 1U << 20;

std::string again(std::string_view text) {
  const Result<Json> value = parse_canonical(text, kLimit);
  return value ? encode_canonical(*value) : value.error().message();
}

}  // namespace

TEST_CASE("values are spelled as RFC 8785 has it") {
  CHECK(encode_canonical(Json()) == "null");
  CHECK(encode_canonical(true) == "true");
  CHECK(encode_canonical(false) == "false");
  CHECK(encode_canonical(0) == "0");
  CHECK(encode_canonical(kMaxInteger) == "9007199254740991");
  CHECK(encode_canonical(-kMaxInteger) == "-9007199254740991");
  CHECK(encode_canonical(Json::array()) == "[]");
  CHECK(encode_canonical(Json::object()) == "{}");
  CHECK(encode_canonical(Json::decimal(UINT64_MAX)) == "\"18446744073709551615\"");
}

TEST_CASE("only what must be escaped is escaped, in the shortest way") {
  CHECK(encode_canonical("\b\t\n\f\r\"\\/") == R"("\b\t\n\f\r\"\\/")");
  CHECK(encode_canonical(std::string_view("\0\x01\x1f\x7f", 4)) == "\"\\u0000\\u0001\\u001f\x7f\"");
  CHECK(encode_canonical("\u20ac$\u000F\nA'B\"\\\\\"/") == "\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
}

TEST_CASE("keys are sorted by UTF-16 code units, not by bytes") {
  // The published pair that tells the two apart: U+1F602 sorts before U+FB33, though its bytes are greater.
  Json value = Json::object();
  value.set("\u20ac", "Euro Sign")
      .set("\r", "Carriage Return")
      .set("\ufb33", "Hebrew Letter Dalet With Dagesh");
  value.set("1", "One").set("\U0001F602", "Smiley").set("\u0080", "Control\x7f").set("\n", "Newline");
  value.set("\u00f6", "Latin Small Letter O With Diaeresis").set("</script>", "Browser Challenge");
  const std::string text =
      "{\"\\n\":\"Newline\",\"\\r\":\"Carriage Return\",\"1\":\"One\",\"</script>\":\"Browser Challenge\","
      "\"\u0080\":\"Control\x7f\",\"\u00f6\":\"Latin Small Letter O With Diaeresis\",\"\u20ac\":\"Euro "
      "Sign\","
      "\"\U0001F602\":\"Smiley\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}";
  CHECK(encode_canonical(value) == text);
  CHECK(again(text) == text);
}

TEST_CASE("published canonical texts within the grammar come out byte for byte") {
  for (
      const char* text :
      {R"([56,{"1":[],"10":null,"d":true}])",
       "{\"peach\":\"This sorting order\",\"p\u00e9ch\u00e9\":\"is wrong according to "
       "French\",\"p\u00eache\":\"but "
       "canonicalization MUST\",\"sin\":\"ignore locale\"}",
       R"({"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}})",
       "{\"Unnormalized Unicode\":\"A\u030a\"}", "[null,true,false]",
       "\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\""}) {
    CHECK(again(text) == text);
  }
}

TEST_CASE("their inputs, sorted and spelled otherwise, are refused") {
  const std::pair<std::string_view, std::string_view> inputs[] = {
      {R"([56,{"d":true,"10":null,"1":[]}])", "json.key_order"},
      {R"({"Unnormalized Unicode":"A\u030a"})", "json.escape"},
      {R"(["\/"])", "json.escape"},
      {R"(["\u000F"])", "json.escape"},
      {R"({"a":{},"A":{}})", "json.key_order"},
      {R"({"\n":56.0})", "json.float"},
      {"[333333333.3333333,1e+30,4.5,0.002,1e-27]", "json.float"}};
  for (const auto& [text, code] : inputs) {
    CAPTURE(text);
    CHECK(outcome(parse_canonical(text, kLimit)) == code);
  }
}

TEST_CASE("an encoded value is parsed back to an equal one") {
  Json value = Json::object();
  value.set("list", Json::Array{Json(1), Json("two"), Json(nullptr), Json(true)});
  value.set("nested", Json::object({{"z", -1}}));
  const std::string text = encode_canonical(value);
  CHECK(text == R"({"list":[1,"two",null,true],"nested":{"z":-1}})");
  CHECK(parse_canonical(text, kLimit).value() == value);
}

TEST_CASE("setting a member twice keeps the last value once") {
  Json value = Json::object({{"a", 1}});
  value.set("a", 2);
  CHECK(encode_canonical(value) == R"({"a":2})");
  CHECK(value.find("a")->as_integer() != nullptr);
  CHECK(value.find("b") == nullptr);
  CHECK(Json(1).find("a") == nullptr);
}

TEST_CASE("reading once accepts what parsing, encoding again and comparing accepts, and nothing else") {
  const std::string_view seeds[] = {
      R"({"":[{},[],null,true,false,-1,0,10],"\n":"\u0000\u001f\"\\\b","a":{"b":"\u20ac"}})",
      R"([9007199254740991,-9007199254740991,9007199254740992,"x"])",
      "{\"\U0001F602\":\"\ufb33\",\"\ufb33\":\"\\ud83d\\ude02\"}",
      R"({"a":[1,[2,[3,{"b":{"c":[]}}]]],"b":"\/\t"})"};
  const std::string_view pieces[] = {
      "\"",       "\\",      "u",       "{",       "}",       "[",    "]",
      ",",        ":",       "0",       "-",       ".5",      "e1",   " ",
      "\n",       "\\u0041", "\\ud83d", "\\ude02", "\\u000a", "\xff", "\xed\xa0\x80",
      "\"a\":1,", "null"};
  std::mt19937 random(1);
  std::size_t accepted = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string text(seeds[random() % std::size(seeds)]);
    for (std::size_t edits = random() % 3 + 1; edits > 0; --edits) {
      const std::size_t at = random() % (text.size() + 1);
      const std::string_view piece = pieces[random() % std::size(pieces)];
      if (random() % 2 == 0)
        text.insert(at, piece);
      else
        text.erase(at, random() % 4 + 1);
    }
    CAPTURE(text);
    const Result<Json> value = parse_canonical(text, kLimit);
    CHECK(value.has_value() == reference_accepts(text));
    if (value) ++accepted;
  }
  CHECK(accepted > 500);
}
