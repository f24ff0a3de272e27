// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_map.h"

#include <algorithm>
#include <charconv>

#include "config/spelling.h"
#include "core/name.h"

namespace postern::config {
namespace {

std::string kind_text(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::mapping:
      return "a mapping";
    case YamlNode::Kind::scalar:
      return in_quotes(node.text);
    case YamlNode::Kind::null:
    case YamlNode::Kind::absent:
      return "nothing";
  }
  return "nothing";
}

}  // namespace

YamlMap::YamlMap(const YamlNode& node, std::string_view origin, std::string_view what)
    : node_(&node), origin_(origin), what_(what) {
  if (node.kind != YamlNode::Kind::mapping) {
    reject(node,
           "found " + kind_text(node) + " for " + std::string(what) + ", expected a mapping (key: value)");
  }
}

const YamlNode* YamlMap::optional(std::string_view key) {
  known_.push_back(key);
  const auto found = std::find_if(node_->keys.begin(), node_->keys.end(),
                                  [key](const YamlKey& candidate) { return candidate.text == key; });
  if (found == node_->keys.end()) return nullptr;
  const YamlNode& value = node_->items[static_cast<std::size_t>(found - node_->keys.begin())];
  if (value.kind == YamlNode::Kind::null) {
    reject(value, "the key " + in_quotes(key) + " has no value; give it one, or remove it");
  }
  return &value;
}

const YamlNode& YamlMap::required(std::string_view key) {
  static const YamlNode kAbsent;
  const YamlNode* value = optional(key);
  if (value != nullptr) return *value;
  if (!missing_ && node_->kind == YamlNode::Kind::mapping) {
    missing_ = Error{errc::missing_key, place_of(origin_, node_->line, node_->column) + std::string(what_) +
                                            " lacks the key " + in_quotes(key) + "; add it"};
  }
  return kAbsent;
}

bool YamlMap::expects_scalar(const YamlNode& node, std::string_view form) {
  if (node.kind == YamlNode::Kind::scalar) return true;
  if (node.kind != YamlNode::Kind::absent) {
    reject(node, "found " + kind_text(node) + ", expected " + std::string(form));
  }
  return false;
}

std::string YamlMap::text(const YamlNode& node) {
  return expects_scalar(node, "a single value") ? node.text : std::string();
}

std::uint64_t YamlMap::integer(const YamlNode& node, std::uint64_t min, std::uint64_t max) {
  const std::string form = "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
  if (!expects_scalar(node, form)) return min;
  std::uint64_t value = 0;
  const char* const begin = node.text.data();
  const char* const end = begin + node.text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  const bool leading_zero = node.text.size() > 1 && node.text.front() == '0';
  if (error != std::errc{} || stop != end || leading_zero || node.quoted || value < min || value > max) {
    reject_value(node, node.text, form);
    return min;
  }
  return value;
}

bool YamlMap::flag(const YamlNode& node) {
  if (!expects_scalar(node, "true or false")) return false;
  if (node.quoted || (node.text != "true" && node.text != "false"))
    reject_value(node, node.text, "true or false");
  return node.text == "true";
}

const std::vector<YamlNode>& YamlMap::items(const YamlNode& node) {
  static const std::vector<YamlNode> kNone;
  if (node.kind == YamlNode::Kind::sequence) return node.items;
  if (node.kind != YamlNode::Kind::absent) reject(node, "found " + kind_text(node) + ", expected a list");
  return kNone;
}

void YamlMap::reject(const YamlNode& node, std::string_view why) {
  if (error_) return;
  error_ = Error{errc::bad_value, place_of(origin_, node.line, node.column) + std::string(why)};
}

void YamlMap::reject_value(const YamlNode& node, std::string_view found, std::string_view form) {
  if (ok()) reject(node, "found " + in_quotes(found) + ", expected " + std::string(form));
}

void YamlMap::adopt(Error error) {
  if (!error_) error_ = std::move(error);
}

Result<> YamlMap::finish() {
  for (const YamlKey& key : node_->keys) {
    if (std::find(known_.begin(), known_.end(), key.text) != known_.end()) continue;
    return fail(errc::unknown_key, place_of(origin_, key.line, key.column) + "unknown key " +
                                       in_quotes(key.text) + " in " + std::string(what_) +
                                       did_you_mean(key.text, known_));
  }
  if (missing_) return tl::unexpected<Error>(*missing_);
  if (error_) return tl::unexpected<Error>(*error_);
  return {};
}

}  // namespace postern::config
