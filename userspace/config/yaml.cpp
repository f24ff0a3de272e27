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

class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    // The get area is only read; its type wants char*.
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

// The first refusal sticks, and nothing is built after it; the parser only reads on to the end of its text.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view origin, std::size_t limit_nodes)
      : origin_(origin), limit_nodes_(limit_nodes) {}

  const std::optional<Error>& refusal() const { return refusal_; }
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(mark, errc::syntax, "an alias (*name) is not allowed; write the value out");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!accepts(mark, "", anchor)) return;
    if (wants_key()) return refuse(mark, errc::syntax, "a key is missing before the colon");
    YamlNode* node = add(mark, YamlNode::Kind::null);
    // A value that is not there has no place of its own: the parser names the one where it gave up looking.
    if (node == nullptr || open_.empty() || open_.back()->keys.empty()) return;
    node->line = open_.back()->keys.back().line;
    node->column = open_.back()->keys.back().column;
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!accepts(mark, tag, anchor)) return;
    if (wants_key()) {
      open_.back()->keys.push_back({value, mark.line + 1, mark.column + 1});
    } else if (YamlNode* node = add(mark, YamlNode::Kind::scalar)) {
      node->text = value;
      node->quoted = tag == "!";
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(mark, tag, anchor, YamlNode::Kind::sequence);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(mark, tag, anchor, YamlNode::Kind::mapping);
  }
  void OnMapEnd() override {
    if (!refusal_) refuse_duplicates(*open_.back());
    end();
  }

 private:
  void refuse(const YAML::Mark& mark, ErrorCode code, std::string_view why) {
    if (!refusal_)
      refusal_ = Error{code, place_of(origin_, mark.line + 1, mark.column + 1) + std::string(why)};
  }

  bool wants_key() const {
    return !open_.empty() && open_.back()->kind == YamlNode::Kind::mapping &&
           open_.back()->keys.size() == open_.back()->items.size();
  }

  bool accepts(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) refuse(mark, errc::syntax, "an anchor (&name) is not allowed; remove it");
    // "?" and "!" are the parser's own: a plain and a quoted value.
    if (!tag.empty() && tag != "?" && tag != "!")
      refuse(mark, errc::syntax, "a tag (!name) is not allowed; remove it");
    return !refusal_;
  }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    if (!accepts(mark, tag, anchor)) return;
    if (wants_key()) return refuse(mark, errc::syntax, "a key must be a plain word, not a list or a mapping");
    if (open_.size() == kMaxYamlDepth) {
      return refuse(mark, errc::syntax, "nested deeper than " + std::to_string(kMaxYamlDepth) + " levels");
    }
    if (YamlNode* node = add(mark, kind)) open_.push_back(node);
  }
  void end() {
    if (!refusal_) open_.pop_back();
  }

  // Only the last item of each open node grows, so that pointers to open nodes stay good. nullptr: too many.
  YamlNode* add(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (++nodes_ > limit_nodes_) {
      refuse(mark, errc::too_large, "more than " + std::to_string(limit_nodes_) + " values in one file");
      return nullptr;
    }
    YamlNode& node = open_.empty() ? root_ : open_.back()->items.emplace_back();
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return &node;
  }

  void refuse_duplicates(const YamlNode& mapping) {
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
    refusal_ = Error{errc::duplicate_key, place_of(origin_, second.line, second.column) + "the key " +
                                              in_quotes(second.text) + " stands on line " +
                                              std::to_string((*twin)->line) + " already; keep one of them"};
  }

  std::string_view origin_;
  YamlNode root_;
  std::vector<YamlNode*> open_;
  std::size_t limit_nodes_;
  std::size_t nodes_ = 0;
  std::optional<Error> refusal_;
};

// Lets the parser's exceptions go no further. False: there is no further document.
Result<bool> next_document(YAML::Parser& parser, TreeBuilder& tree, std::string_view origin) {
  Result<bool> found = false;
  try {
    found = parser.HandleNextDocument(tree);
  } catch (const YAML::Exception& e) {
    const YAML::Mark& mark = e.mark;
    found = fail(errc::syntax, place_of(origin, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1) +
                                   "this is no valid YAML: " + e.msg);
  } catch (const std::exception& e) {
    found = fail(errc::syntax, std::string(origin) + ": this is no valid YAML: " + e.what());
  }
  // What the tree refused stands before the place where the parser gave up.
  if (tree.refusal()) return tl::unexpected<Error>(*tree.refusal());
  return found;
}

}  // namespace

std::string place_of(std::string_view origin, int line, int column) {
  std::string out(origin);
  return out.append(":").append(std::to_string(line)).append(":").append(std::to_string(column)).append(": ");
}

Result<YamlNode> parse_yaml(std::string_view text, std::string_view origin, std::size_t limit_bytes,
                            std::size_t limit_nodes) {
  if (text.size() > limit_bytes) {
    return fail(errc::too_large, std::string(origin) + " has " + std::to_string(text.size()) +
                                     " bytes, the limit is " + std::to_string(limit_bytes));
  }
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  YAML::Parser parser(stream);
  TreeBuilder tree(origin, limit_nodes);
  Result<bool> first = next_document(parser, tree, origin);
  if (!first) return pass_on(std::move(first));
  if (!*first) return fail(errc::syntax, std::string(origin) + " is empty");
  TreeBuilder rest(origin, limit_nodes);
  Result<bool> second = next_document(parser, rest, origin);
  if (!second) return pass_on(std::move(second));
  if (*second) {
    const YamlNode node = rest.take();
    return fail(errc::syntax, place_of(origin, node.line, node.column) +
                                  "a second document begins here; one file holds one");
  }
  return tree.take();
}

}  // namespace postern::config
