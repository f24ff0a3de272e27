// SPDX-License-Identifier: Apache-2.0
// Canonical JSON (RFC 8785, restricted; SPEC 3.1): no floats, integers within +-(2^53-1), keys unique and
// sorted by UTF-16 code units, valid UTF-8 without lone surrogates, one spelling for every value. The only
// JSON that signed documents, events and the control socket use.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"
#include "wire/errors.h"

namespace postern::wire {

inline constexpr std::int64_t kMaxInteger = (std::int64_t{1} << 53) - 1;
inline constexpr std::size_t kMaxDepth = 32;

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  // Members in any order; the encoder sorts. Keys are unique: set() replaces.
  using Object = std::vector<Member>;

  Json() : value_(nullptr) {}
  Json(std::nullptr_t) : value_(nullptr) {}
  Json(bool v) : value_(v) {}
  Json(std::int64_t v) : value_(v) {}
  Json(int v) : value_(std::int64_t{v}) {}
  Json(std::uint32_t v) : value_(std::int64_t{v}) {}
  Json(std::string v) : value_(std::move(v)) {}
  Json(std::string_view v) : value_(std::string(v)) {}
  Json(const char* v) : value_(std::string(v)) {}
  Json(Array v) : value_(std::move(v)) {}
  static Json object(std::initializer_list<Member> members = {}) { return Json(Object(members), 0); }
  static Json array(Array elements = {}) { return Json(std::move(elements)); }
  // A 64-bit count as the decimal string that documents use for it.
  static Json decimal(std::uint64_t v) { return Json(std::to_string(v)); }

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  const bool* as_bool() const { return std::get_if<bool>(&value_); }
  const std::int64_t* as_integer() const { return std::get_if<std::int64_t>(&value_); }
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }
  Array* as_array() { return std::get_if<Array>(&value_); }
  Object* as_object() { return std::get_if<Object>(&value_); }

  // The member of that name, or nullptr; also nullptr when this is no object.
  const Json* find(std::string_view key) const;
  // Adds or replaces a member. *this must be an object.
  Json& set(std::string key, Json value);
  // Appends. *this must be an array.
  void push(Json value) { std::get<Array>(value_).push_back(std::move(value)); }

  friend bool operator==(const Json&, const Json&) = default;

 private:
  Json(Object members, int) : value_(std::move(members)) {}
  std::variant<std::nullptr_t, bool, std::int64_t, std::string, Array, Object> value_;
};

// The canonical bytes. Precondition: integers within +-kMaxInteger, strings valid UTF-8.
std::string encode_canonical(const Json& value);

// Accepts `text` only if it is byte for byte what encode_canonical would write. Errors name the byte offset
// where the text departs from the canonical form. `limit_bytes` bounds the input.
Result<Json> parse_canonical(std::string_view text, std::size_t limit_bytes);

}  // namespace postern::wire
