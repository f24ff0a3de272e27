// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "unit/outcome.h"
#include "wire/json.h"

using namespace postern;
using namespace postern::wire;
using namespace postern::testing;

namespace {

constexpr std::size_t kLimit = 1U << 20;

std::string verdict(std::string_view text) {
  return outcome(parse_canonical(text, kLimit));
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

TEST_CASE("text that is no JSON is refused") {
  for (const std::string_view text : {"", " ", "{", "}", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "'a'", "\"a",
                                      "tru", "[1 2]", "nul", "{\"a\":1,}", "\"\\x41\"", "\"\t\"", "01"}) {
    CAPTURE(text);
    CHECK(verdict(text) != "ok");
    CHECK(verdict(text) != "json.not_canonical");
  }
}

TEST_CASE("white space, a byte order mark and trailing bytes are refused, and the place is named") {
  for (const std::string_view text : {" {}", "{} ", "{}\n", "[1, 2]", "{\"a\": 1}", "[\n]"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.not_canonical");
  }
  CHECK(verdict("\xef\xbb\xbf{}") != "ok");
  CHECK(verdict("{}{}") != "ok");
  CHECK(verdict("{}x") != "ok");
  CHECK(verdict(std::string_view("{}\0", 3)) != "ok");
  CHECK(says(parse_canonical("[1, 2]", kLimit), "byte 3: expected '2', found byte 0x20"));
  CHECK(says(parse_canonical("{}\n", kLimit), "byte 2"));
}

TEST_CASE("bytes that are no UTF-8 are refused") {
  for (const std::string_view text : {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                                      "\"\xe2\x82\"", "\"\x80\"", "\"\xf0\x80\x80\x80\""}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.syntax");
  }
}

TEST_CASE("lone surrogates are refused in either half, as value and as key") {
  for (const std::string_view text : {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\udc00\ud800")",
                                      R"("\ud800x")", R"({"\ud800":1})", R"({"\udfff":1})"}) {
    CAPTURE(text);
    CHECK(verdict(text) != "ok");
  }
  // A whole pair is a character, whose one spelling is itself.
  CHECK(verdict(R"("\ud83d\ude02")") == "json.not_canonical");
  CHECK(verdict("\"\U0001F602\"") == "ok");
}

TEST_CASE("NUL is accepted only as the escape that stands for it") {
  CHECK(verdict(R"("\u0000")") == "ok");
  CHECK(parse_canonical(R"("\u0000")", kLimit).value().as_string()->size() == 1);
  CHECK(verdict(std::string_view("\"\0\"", 3)) == "json.syntax");
}

TEST_CASE("escapes that are not needed, or not the shortest, are refused") {
  for (const std::string_view text :
       {R"("\u0041")", R"("\/")", R"("\u000a")", R"("\u001F")", R"("\u007f")", R"("\u0022")"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.not_canonical");
  }
}

TEST_CASE("fractions, exponents and integers beyond 2^53-1 are refused") {
  for (const std::string_view text :
       {"1.0", "1e3", "-0.0", "0.1", "1E+2", "9007199254740992", "-9007199254740992", "9223372036854775807",
        "18446744073709551615", "18446744073709551616", "100000000000000000000000000000000"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.number");
  }
  CHECK(verdict("-0") == "json.not_canonical");
  CHECK(verdict("9007199254740991") == "ok");
  CHECK(verdict("-9007199254740991") == "ok");
}

TEST_CASE("the error about a number says where it stands") {
  CHECK(says(parse_canonical(R"({"a":[1,{"b":1.5}]})", kLimit), "\"a\": [1]: \"b\": found a fraction"));
}

TEST_CASE("a key that stands twice is refused, adjacent or apart, plain or escaped") {
  for (const std::string_view text :
       {R"({"a":1,"a":1})", R"({"a":1,"b":2,"a":3})", R"([{"x":{"a":1,"a":2}}])", R"({"a":1,"\u0061":2})",
        R"({"":1,"":2})"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.duplicate_key");
  }
  CHECK(says(parse_canonical(R"({"a":1,"b":2,"a":3})", kLimit), "\"a\" stands twice"));
}

TEST_CASE("keys out of order are refused, and the place is named") {
  CHECK(verdict(R"({"b":1,"a":2})") == "json.not_canonical");
  CHECK(says(parse_canonical(R"({"b":1,"a":2})", kLimit), "byte 2: expected 'a', found 'b'"));
  CHECK(verdict("{\"\ufb33\":1,\"\U0001F602\":2}") == "json.not_canonical");
  CHECK(verdict("{\"\U0001F602\":2,\"\ufb33\":1}") == "ok");
}

TEST_CASE("nesting beyond the limit is refused, however deep") {
  CHECK(verdict(nested(kMaxDepth)) == "ok");
  CHECK(verdict(nested(kMaxDepth + 1)) == "json.depth");
  CHECK(verdict(nested(10'000)) == "json.depth");
  CHECK(verdict(std::string(500'000, '[')) != "ok");
}

TEST_CASE("a document larger than the limit is refused before it is parsed") {
  CHECK(outcome(parse_canonical("[1,2]", 5)) == "ok");
  CHECK(outcome(parse_canonical("[1,2]", 4)) == "json.too_large");
}

TEST_CASE("every single changed byte of a document is either refused or another document") {
  const std::string text = R"({"a":[1,"b\n",{"c":null}],"d":-12,"e":true})";
  const Json value = parse_canonical(text, kLimit).value();
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[i] = static_cast<char>(byte);
      if (changed == text) continue;
      const Result<Json> other = parse_canonical(changed, kLimit);
      if (!other) continue;
      CHECK(*other != value);
      CHECK(encode_canonical(*other) == changed);
    }
  }
}
