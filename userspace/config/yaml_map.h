// SPDX-License-Identifier: Apache-2.0
// Strict reading of a YAML mapping: each key is asked for once; finish() refuses what nobody asked for, and
// suggests the key that was likely meant. The first error sticks, so read everything, then look at finish().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/yaml.h"

namespace postern::config {

class YamlMap {
 public:
  // `node` and `origin` must outlive this. `what` names the mapping in errors ("an interface").
  YamlMap(const YamlNode& node, std::string_view origin, std::string_view what);

  // nullptr when the key is absent.
  const YamlNode* optional(std::string_view key);
  // An absent node, which the functions below take for an error that was recorded, when the key is absent.
  const YamlNode& required(std::string_view key);

  std::string text(const YamlNode& node);
  std::uint64_t integer(const YamlNode& node, std::uint64_t min, std::uint64_t max);
  bool flag(const YamlNode& node);
  const std::vector<YamlNode>& items(const YamlNode& node);
  // `parse` takes std::string_view and returns std::optional<T>; `form` says what it takes.
  template <class Parse, class T = typename std::invoke_result_t<Parse, std::string_view>::value_type>
  T parsed(const YamlNode& node, Parse parse, std::string_view form) {
    const std::string spelled = text(node);
    std::optional<T> value = ok() ? parse(spelled) : std::nullopt;
    if (!value) reject_value(node, spelled, form);
    return value ? *std::move(value) : T{};
  }

  void reject(const YamlNode& node, std::string_view why);
  void reject_value(const YamlNode& node, std::string_view found, std::string_view form);
  void adopt(Error error);
  // Reads each item of the list at `node` with `read`, which takes the node's YamlMap.
  template <class Read, class T = std::invoke_result_t<Read, YamlMap&>>
  std::vector<T> each(const YamlNode& node, std::string_view what, Read read) {
    std::vector<T> out;
    for (const YamlNode& item : items(node)) {
      YamlMap map(item, origin_, what);
      out.push_back(read(map));
      if (Result<> done = map.finish(); !done) {
        adopt(std::move(done).error());
        break;
      }
    }
    return out;
  }

  std::string_view origin() const { return origin_; }
  int line() const { return node_->line; }
  bool ok() const { return !error_ && !missing_; }
  Result<> finish();

 private:
  bool expects_scalar(const YamlNode& node, std::string_view form);

  const YamlNode* node_;
  std::string_view origin_;
  std::string_view what_;
  std::vector<std::string_view> known_;  // keys that were asked for
  std::optional<Error> missing_;
  std::optional<Error> error_;
};

}  // namespace postern::config
