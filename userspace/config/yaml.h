// SPDX-License-Identifier: Apache-2.0
// YAML text as a plain tree with positions. A strict subset of YAML 1.2: one document of mappings, sequences
// and scalars; keys are scalars and unique; no anchors, aliases, tags or merge keys; nesting and size are
// bounded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/errors.h"
#include "core/result.h"

namespace postern::config {

inline constexpr std::size_t kMaxYamlDepth = 16;
inline constexpr std::size_t kMaxYamlNodes = 16'000'000;

struct YamlKey {
  std::string text;
  int line = 0;
  int column = 0;
};

struct YamlNode {
  enum class Kind { absent, null, scalar, sequence, mapping };

  Kind kind = Kind::absent;
  bool quoted = false;
  int line = 0;  // from 1
  int column = 0;
  std::string text;             // of a scalar
  std::vector<YamlNode> items;  // elements of a sequence, or values of a mapping in the order of `keys`
  std::vector<YamlKey> keys;    // of a mapping
};

// "origin:line:column: "
std::string place_of(std::string_view origin, int line, int column);

// Fails with errc::too_large, syntax or duplicate_key; contexts begin with the place.
Result<YamlNode> parse_yaml(std::string_view text, std::string_view origin, std::size_t limit_bytes,
                            std::size_t limit_nodes = kMaxYamlNodes);

}  // namespace postern::config
