// SPDX-License-Identifier: Apache-2.0
#include "support/reference_json.h"

#include <simdjson.h>

#include <optional>
#include <set>

#include "wire/json.h"

namespace postern::testing {
namespace {

namespace dom = simdjson::dom;
using wire::Json;

std::optional<Json> convert(const dom::element& element, std::size_t depth);

std::optional<Json> convert_array(const dom::array& source, std::size_t depth) {
  Json out = Json::array();
  for (const dom::element element : source) {
    std::optional<Json> value = convert(element, depth + 1);
    if (!value) return std::nullopt;
    out.push(std::move(*value));
  }
  return out;
}

std::optional<Json> convert_object(const dom::object& source, std::size_t depth) {
  Json out = Json::object();
  std::set<std::string> keys;
  for (const dom::key_value_pair member : source) {
    std::optional<Json> value = convert(member.value, depth + 1);
    if (!value || !keys.emplace(member.key).second) return std::nullopt;
    out.set(std::string(member.key), std::move(*value));
  }
  return out;
}

std::optional<Json> convert(const dom::element& element, std::size_t depth) {
  if ((element.is_array() || element.is_object()) && depth == wire::kMaxDepth) return std::nullopt;
  switch (element.type()) {
    case dom::element_type::NULL_VALUE:
      return Json();
    case dom::element_type::BOOL:
      return Json(element.get_bool().value_unsafe());
    case dom::element_type::INT64: {
      const std::int64_t number = element.get_int64().value_unsafe();
      if (number > wire::kMaxInteger || number < -wire::kMaxInteger) return std::nullopt;
      return Json(number);
    }
    case dom::element_type::STRING:
      return Json(element.get_string().value_unsafe());
    case dom::element_type::ARRAY:
      return convert_array(element.get_array().value_unsafe(), depth);
    case dom::element_type::OBJECT:
      return convert_object(element.get_object().value_unsafe(), depth);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool reference_accepts(std::string_view text) {
  dom::parser parser;
  dom::element root;
  if (parser.parse(text.data(), text.size()).get(root) != simdjson::SUCCESS) return false;
  const std::optional<Json> value = convert(root, 0);
  return value && wire::encode_canonical(*value) == text;
}

}  // namespace postern::testing
