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
  for (const std::string_view text :
       {"",     "{",       "}",           "[1,]", "[,1]",       "{\"a\"}", "{\"a\":}",  "{a:1}",
        "'a'",  "\"a",     "tru",         "nul",  "{\"a\":1,}", "{,}",     "\"\\x41\"", "\"\t\"",
        "\"\\", "\"\\u00", "\"\\u00g0\"", "-",    "+1",         "[1}",     "{\"a\":1]"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.syntax");
  }
  CHECK(says(parse_canonical("[1,}", kLimit), "byte 3: found '}', expected a value"));
  CHECK(says(parse_canonical("{\"a\":1", kLimit), "byte 6: the document ends too early"));
}

TEST_CASE("white space is refused wherever it stands, and the place is named") {
  for (const std::string_view text : {" ", " {}", "{} ", "{}\n", "[1, 2]", "[1 ,2]", "[1 2]", "{\"a\": 1}",
                                      "{\"a\" :1}", "{ }", "[\n]", "\t1"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.white_space");
  }
  CHECK(says(parse_canonical("[1, 2]", kLimit), "byte 3: white space"));
  CHECK(says(parse_canonical("{}\n", kLimit), "byte 2"));
}

TEST_CASE("a byte order mark and bytes after the document are refused, each by its own name") {
  CHECK(verdict("\xef\xbb\xbf{}") == "json.byte_order_mark");
  for (const std::string_view text : {"{}{}", "{}x", "{},", "1\"\"", "[]]", "nullnull"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.trailing_bytes");
  }
  CHECK(verdict(std::string_view("{}\0", 3)) == "json.trailing_bytes");
  CHECK(says(parse_canonical("{}{}", kLimit), "byte 2"));
}

TEST_CASE("bytes that are no UTF-8 are refused, and the first of them is named") {
  for (const std::string_view text :
       {"\"\xff\"", "\"\xc0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "\"\x80\"",
        "\"\xf0\x80\x80\x80\"", "\"\xf5\x80\x80\x80\"", "\"\xe0\x9f\xbf\"", "\"\xc3"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.utf8");
  }
  CHECK(says(parse_canonical("\"ab\u00e9\U0001F602\u20ac\xff\"", kLimit), "byte 12: "));
}

TEST_CASE("halves of surrogate pairs are refused, alone, reversed or encoded, as value and as key") {
  for (const std::string_view text :
       {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\udc00\ud800")", R"("\udc00\udc00")",
        R"("\ud800x")", R"("\ud800\n")", R"({"\ud800":1})", R"({"\udfff":1})"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.surrogate");
  }
  CHECK(verdict("\"\xed\xa0\x80\"") == "json.surrogate");
  CHECK(verdict("\"\xed\xa0\xbd\xed\xb8\x82\"") == "json.surrogate");
  CHECK(says(parse_canonical(R"(["a\udc00"])", kLimit), "byte 3"));
  // A whole pair is a character, whose one spelling is itself.
  CHECK(verdict(R"("\ud83d\ude02")") == "json.escape");
  CHECK(verdict("\"\U0001F602\"") == "ok");
}

TEST_CASE("NUL is accepted only as the escape that stands for it") {
  CHECK(verdict(R"("\u0000")") == "ok");
  CHECK(parse_canonical(R"("\u0000")", kLimit).value().as_string()->size() == 1);
  CHECK(verdict(std::string_view("\"\0\"", 3)) == "json.syntax");
}

TEST_CASE("escapes that are not needed, or not the shortest, are refused") {
  for (const std::string_view text : {R"("\u0041")", R"("\/")", R"("\u000a")", R"("\u001F")", R"("\u007f")",
                                      R"("\u0022")", R"({"\u0061":1})"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.escape");
  }
  CHECK(says(parse_canonical(R"(["ab\/"])", kLimit), "byte 4"));
}

TEST_CASE("fractions and exponents are refused as such") {
  for (const std::string_view text : {"1.0", "1e3", "-0.0", "0.1", "1E+2", "0e0", "12345678901234567890.5"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.float");
  }
  CHECK(says(parse_canonical(R"({"a":[1,{"b":1.5}]})", kLimit), "byte 13: found a fraction"));
}

TEST_CASE("integers beyond 2^53-1, and those with a second spelling, are refused") {
  for (const std::string_view text :
       {"9007199254740992", "-9007199254740992", "9223372036854775807", "9223372036854775808",
        "18446744073709551616", "100000000000000000000000000000000", "01", "-01", "00", "-0"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.number");
  }
  CHECK(verdict("9007199254740991") == "ok");
  CHECK(verdict("-9007199254740991") == "ok");
  CHECK(says(parse_canonical("[1,9007199254740992]", kLimit), "byte 3: found 9007199254740992"));
}

TEST_CASE("a key that stands twice is refused, adjacent or apart, plain or escaped") {
  for (const std::string_view text :
       {R"({"a":1,"a":1})", R"({"a":1,"b":2,"a":3})", R"([{"x":{"a":1,"a":2}}])", R"({"\n":1,"\n":2})",
        R"({"\n":[{"\t":1}],"a":"\n","\n":2})", R"({"":1,"":2})"}) {
    CAPTURE(text);
    CHECK(verdict(text) == "json.duplicate_key");
  }
  CHECK(says(parse_canonical(R"({"a":1,"b":2,"a":3})", kLimit), "byte 13: the key \"a\" stands twice"));
}

TEST_CASE("keys out of order are refused, and the place is named") {
  CHECK(verdict(R"({"b":1,"a":2})") == "json.key_order");
  CHECK(says(parse_canonical(R"({"b":1,"a":2})", kLimit), "byte 7: the key \"a\" comes after \"b\""));
  CHECK(verdict("{\"\ufb33\":1,\"\U0001F602\":2}") == "json.key_order");
  CHECK(verdict("{\"\U0001F602\":2,\"\ufb33\":1}") == "ok");
  // The order within one object is nobody's in another.
  CHECK(verdict(R"({"b":{"a":1},"c":{"a":1}})") == "ok");
  CHECK(verdict(R"({"\n":{"\t":1,"\n":2},"\r":[{"\b":1}],"a":1})") == "ok");
}

TEST_CASE("nesting beyond the limit is refused, however deep") {
  CHECK(verdict(nested(kMaxDepth)) == "ok");
  CHECK(verdict(nested(kMaxDepth + 1)) == "json.depth");
  CHECK(verdict(nested(10'000)) == "json.depth");
  CHECK(verdict(std::string(500'000, '[')) == "json.depth");
  CHECK(says(parse_canonical(nested(kMaxDepth + 1), kLimit), "byte 32: nested deeper than 32 levels"));
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
