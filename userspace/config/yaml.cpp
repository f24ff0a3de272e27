// SPDX-License-Identifier: Apache-2.0
// The tree is built from yaml-cpp's events instead of its nodes: nodes hide anchors, duplicate keys and
// quotes, and would be built in full before a bound could be checked.
#include "config/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <istream>
#include <optional>
#include <streambuf>

#include "core/name.h"

namespace postern::config {
namespace {

// Leaves the parser by way of its caller; caught in parse_yaml.
struct Refusal : std::exception {
  explicit Refusal(Error e) : error(std::move(e)) {}
  Error error;
};

class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    // The get area is only read; its type wants char*.
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view origin) : origin_(origin) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(mark, errc::syntax, "an alias (*name) is not allowed; write the value out");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    if (wants_key()) refuse(mark, errc::syntax, "a key is missing before the colon");
    YamlNode& node = add(mark, YamlNode::Kind::null);
    // A value that is not there has no place of its own: the parser names the one where it gave up looking.
    if (open_.empty() || open_.back()->keys.empty()) return;
    node.line = open_.back()->keys.back().line;
    node.column = open_.back()->keys.back().column;
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (wants_key()) {
      open_.back()->keys.push_back({value, mark.line + 1, mark.column + 1});
      return;
    }
    YamlNode& node = add(mark, YamlNode::Kind::scalar);
    node.text = value;
    node.quoted = tag == "!";
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(mark, tag, anchor, YamlNode::Kind::sequence);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(mark, tag, anchor, YamlNode::Kind::mapping);
  }
  void OnMapEnd() override {
    refuse_duplicates(*open_.back());
    open_.pop_back();
  }

  [[noreturn]] void refuse(const YAML::Mark& mark, ErrorCode code, std::string_view why) const {
    throw Refusal(Error{code, place_of(origin_, mark.line + 1, mark.column + 1) + std::string(why)});
  }

 private:
  bool wants_key() const {
    return !open_.empty() && open_.back()->kind == YamlNode::Kind::mapping &&
           open_.back()->keys.size() == open_.back()->items.size();
  }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (wants_key()) refuse(mark, errc::syntax, "a key must be a plain word, not a list or a mapping");
    if (open_.size() == kMaxYamlDepth) {
      refuse(mark, errc::syntax, "nested deeper than " + std::to_string(kMaxYamlDepth) + " levels");
    }
    open_.push_back(&add(mark, kind));
  }

  // Only the last item of each open node grows, so that pointers to open nodes stay good.
  YamlNode& add(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (++nodes_ > kMaxYamlNodes) {
      refuse(mark, errc::too_large, "more than " + std::to_string(kMaxYamlNodes) + " values in one file");
    }
    YamlNode& node = open_.empty() ? root_ : open_.back()->items.emplace_back();
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) refuse(mark, errc::syntax, "an anchor (&name) is not allowed; remove it");
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    refuse(mark, errc::syntax, "a tag (!name) is not allowed; remove it");
  }

  void refuse_duplicates(const YamlNode& mapping) const {
    std::vector<const YamlKey*> sorted;
    sorted.reserve(mapping.keys.size());
    for (const YamlKey& key : mapping.keys)
      sorted.push_back(&key);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const YamlKey* a, const YamlKey* b) { return a->text < b->text; });
    const auto twin = std::adjacent_find(
        sorted.begin(), sorted.end(), [](const YamlKey* a, const YamlKey* b) { return a->text == b->text; });
    if (twin == sorted.end()) return;
    const YamlKey& second = **(twin + 1);
    throw Refusal(Error{errc::duplicate_key, place_of(origin_, second.line, second.column) + "the key " +
                                                 in_quotes(second.text) + " stands on line " +
                                                 std::to_string((*twin)->line) +
                                                 " already; keep one of them"});
  }

  std::string_view origin_;
  YamlNode root_;
  std::vector<YamlNode*> open_;
  std::size_t nodes_ = 0;
};

}  // namespace

std::string place_of(std::string_view origin, int line, int column) {
  std::string out(origin);
  return out.append(":").append(std::to_string(line)).append(":").append(std::to_string(column)).append(": ");
}

Result<YamlNode> parse_yaml(std::string_view text, std::string_view origin, std::size_t limit_bytes) try {
  if (text.size() > limit_bytes) {
    return fail(errc::too_large, std::string(origin) + " has " + std::to_string(text.size()) +
                                     " bytes, the limit is " + std::to_string(limit_bytes));
  }
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  YAML::Parser parser(stream);
  TreeBuilder tree(origin);
  if (!parser.HandleNextDocument(tree)) return fail(errc::syntax, std::string(origin) + " is empty");
  TreeBuilder rest(origin);
  if (parser.HandleNextDocument(rest)) {
    const YamlNode second = rest.take();
    return fail(errc::syntax, place_of(origin, second.line, second.column) +
                                  "a second document begins here; one file holds one");
  }
  return tree.take();
} catch (const Refusal& refusal) {
  return tl::unexpected<Error>(refusal.error);
} catch (const YAML::Exception& e) {
  return fail(errc::syntax, place_of(origin, std::max(e.mark.line, 0) + 1, std::max(e.mark.column, 0) + 1) +
                                "this is no valid YAML: " + e.msg);
} catch (const std::exception& e) {
  return fail(errc::syntax, std::string(origin) + ": this is no valid YAML: " + e.what());
}

}  // namespace postern::config
