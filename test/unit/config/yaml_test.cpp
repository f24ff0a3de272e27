// SPDX-License-Identifier: Apache-2.0
#include "config/yaml.h"

#include <doctest/doctest.h>

#include "unit/outcome.h"

using namespace postern;
using namespace postern::config;
using namespace postern::testing;

namespace {

constexpr std::size_t kLimit = 4U << 20;

Result<YamlNode> parsed(std::string_view text) {
  return parse_yaml(text, "f.yaml", kLimit);
}

std::string repeated(std::string_view piece, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i)
    out += piece;
  return out;
}

}  // namespace

TEST_CASE("a document becomes a tree with positions") {
  const YamlNode root = parsed("a: 1\nb:\n  - \"x\"\n  - {c: ~}\n").value();
  REQUIRE(root.kind == YamlNode::Kind::mapping);
  REQUIRE(root.keys.size() == 2);
  CHECK(root.keys[1].text == "b");
  CHECK(root.keys[1].line == 2);
  CHECK(root.items[0].text == "1");
  CHECK_FALSE(root.items[0].quoted);
  CHECK(root.items[0].column == 4);
  const YamlNode& list = root.items[1];
  REQUIRE(list.kind == YamlNode::Kind::sequence);
  CHECK(list.items[0].quoted);
  CHECK(list.items[0].line == 3);
  CHECK(list.items[1].items[0].kind == YamlNode::Kind::null);
}

TEST_CASE("broken YAML is refused with its place") {
  for (const std::string_view text :
       {"a: [1, 2", "a: b: c", "\ta: 1", "a: \"x", "- a\nb: 1", "%YAML 9.9\n---\na: 1", "{a: 1"}) {
    CAPTURE(text);
    CHECK(outcome(parsed(text)) == "config.syntax");
  }
  CHECK(says(parsed("a: 1\nb: [1\n"), "f.yaml:"));
  CHECK(outcome(parsed("")) == "config.syntax");
  CHECK(outcome(parsed("# nothing\n")) == "config.syntax");
}

TEST_CASE("a second document in a file is refused") {
  CHECK(outcome(parsed("a: 1\n---\nb: 2\n")) == "config.syntax");
  CHECK(says(parsed("a: 1\n---\nb: 2\n"), "f.yaml:3:1: a second document"));
}

TEST_CASE("a duplicate key is refused and both places are named") {
  CHECK(outcome(parsed("a: 1\nb: 2\na: 3\n")) == "config.duplicate_key");
  CHECK(context(parsed("a: 1\nb: 2\na: 3\n")) ==
        "f.yaml:3:1: the key \"a\" stands on line 1 already; keep one of them");
  CHECK(outcome(parsed("x: {a: 1, \"a\": 2}")) == "config.duplicate_key");
}

TEST_CASE("anchors, aliases, tags, merge keys and structured keys are refused") {
  for (const std::string_view text :
       {"a: &x 1", "a: &x [1]", "a: &x {b: 1}", "a: &x ~", "a: !!str 1", "a: !foo [1]", "a: !foo {b: 1}",
        "a: &x 1\nb: *x", "? [a]\n: 1", "? {a: 1}\n: 1", "{a: 1}: 2", ": 1", "a: {*x : 1}"}) {
    CAPTURE(text);
    CHECK(outcome(parsed(text)) == "config.syntax");
  }
  CHECK(says(parsed("a: 1\nb: &x 1"), "f.yaml:2:"));
  CHECK(says(parsed("a: !!str 1"), "a tag"));
}

TEST_CASE("nesting beyond the limit is refused") {
  const auto nested = [](std::size_t depth) { return repeated("[", depth) + repeated("]", depth); };
  CHECK(outcome(parsed(nested(kMaxYamlDepth))) == "ok");
  CHECK(outcome(parsed(nested(kMaxYamlDepth + 1))) == "config.syntax");
  CHECK(says(parsed(nested(kMaxYamlDepth + 1)), "nested deeper"));
}

TEST_CASE("a megabyte of opening brackets, braces, dashes or question marks is refused, not a crash") {
  for (const std::string_view piece :
       {"[", "{", "- ", "? ", "[{", "{a: [", "{a: ", "!a ", "&a ", "*a ", "'x", "\"", "|", ">", "%"}) {
    CAPTURE(piece);
    CHECK(outcome(parsed(repeated(piece, 1'000'000 / piece.size()))) != "ok");
  }
}

TEST_CASE("a file larger than the limit is refused") {
  CHECK(outcome(parse_yaml("a: 12", "f.yaml", 5)) == "ok");
  CHECK(outcome(parse_yaml("a: 123", "f.yaml", 5)) == "config.too_large");
}

TEST_CASE("a file with more values than the limit is refused, where the first one too many stands") {
  CHECK(outcome(parse_yaml("a: 1\nb: 2\n", "f.yaml", kLimit, 3)) == "ok");
  CHECK(outcome(parse_yaml("a: 1\nb: 2\nc: 3\n", "f.yaml", kLimit, 3)) == "config.too_large");
  CHECK(says(parse_yaml("a: 1\nb: 2\nc: 3\n", "f.yaml", kLimit, 3), "f.yaml:3:4: more than 3 values"));
}

TEST_CASE("of two faults the first in the file is named") {
  CHECK(outcome(parsed("a: 1\na: 2\n---\nb: [\n")) == "config.duplicate_key");
  CHECK(says(parsed("a: *x\nb: &y 1\n"), "no valid YAML"));
  CHECK(says(parsed("a: &y 1\nb: [\n"), "f.yaml:1:4: an anchor"));
}
