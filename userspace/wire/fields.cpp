// SPDX-License-Identifier: Apache-2.0
#include "wire/fields.h"

#include <charconv>

namespace postern::wire {
namespace {

constexpr std::size_t kBits = 64;

std::string type_of(const Json& value) {
  if (value.as_bool() != nullptr) return "a boolean";
  if (const std::int64_t* number = value.as_integer()) return std::to_string(*number);
  if (const std::string* text = value.as_string()) return "\"" + text->substr(0, 64) + "\"";
  if (value.as_array() != nullptr) return "an array";
  return value.is_null() ? "null" : "an object";
}

}  // namespace

Fields::Fields(const Json& object, std::string path) : object_(&object), own_path_(std::move(path)) {
  expect_object();
}

Fields::Fields(const Json& object, const Fields& parent, std::string_view key,
               std::optional<std::size_t> index)
    : object_(&object), parent_(&parent), key_(key), index_(index) {
  expect_object();
}

void Fields::expect_object() {
  if (object_->as_object() != nullptr) return;
  const std::string where = path();
  error_ = Error{errc::field_invalid, (where.empty() ? "the document" : where) + " is " + type_of(*object_) +
                                          ", expected an object"};
}

void Fields::mark_asked(std::size_t member) {
  next_ = member + 1;
  if (member < kBits) {
    asked_ |= std::uint64_t{1} << member;
    return;
  }
  if (asked_above_.empty()) asked_above_.resize(object_->as_object()->size() - kBits);
  asked_above_[member - kBits] = true;
}

bool Fields::was_asked(std::size_t member) const {
  if (member < kBits) return (asked_ >> member & 1) != 0;
  return !asked_above_.empty() && asked_above_[member - kBits];
}

const Json* Fields::optional(std::string_view key) {
  const Json::Object* members = object_->as_object();
  if (members == nullptr) return nullptr;
  const std::size_t count = members->size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (next_ + i) % count;
    if ((*members)[at].first != key) continue;
    mark_asked(at);
    return &(*members)[at].second;
  }
  return nullptr;
}

const Json* Fields::take(std::string_view key) {
  const Json* value = optional(key);
  if (value == nullptr && !error_) error_ = Error{errc::field_missing, path_of(key) + " is missing"};
  return value;
}

std::string Fields::text(std::string_view key) {
  const Json* value = take(key);
  if (value == nullptr) return {};
  if (const std::string* text = value->as_string()) return *text;
  reject(key, "is " + type_of(*value) + ", expected a string");
  return {};
}

std::int64_t Fields::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  const Json* value = take(key);
  if (value == nullptr) return min;
  if (const std::int64_t* number = value->as_integer();
      number != nullptr && *number >= min && *number <= max) {
    return *number;
  }
  reject(key, "is " + type_of(*value) + ", expected an integer from " + std::to_string(min) + " to " +
                  std::to_string(max));
  return min;
}

std::uint64_t Fields::decimal(std::string_view key) {
  const Json* value = take(key);
  if (value == nullptr) return 0;
  std::uint64_t number = 0;
  if (const std::string* text = value->as_string(); text != nullptr && !text->empty()) {
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, number);
    if (error == std::errc{} && stop == end && (text->size() == 1 || text->front() != '0')) return number;
  }
  reject(key,
         "is " + type_of(*value) + ", expected a 64-bit count as a decimal string without leading zeros");
  return 0;
}

bool Fields::boolean(std::string_view key) {
  const Json* value = take(key);
  if (value == nullptr) return false;
  if (const bool* flag = value->as_bool()) return *flag;
  reject(key, "is " + type_of(*value) + ", expected true or false");
  return false;
}

const Json::Array& Fields::array(std::string_view key) {
  static const Json::Array kNone;
  const Json* value = take(key);
  if (value == nullptr) return kNone;
  if (const Json::Array* elements = value->as_array()) return *elements;
  reject(key, "is " + type_of(*value) + ", expected an array");
  return kNone;
}

const Json& Fields::any(std::string_view key) {
  static const Json kNull;
  const Json* value = take(key);
  return value == nullptr ? kNull : *value;
}

void Fields::reject(std::string_view key, std::string_view why) {
  if (!error_) error_ = Error{errc::field_invalid, path_of(key).append(" ").append(why)};
}

void Fields::adopt(Error error) {
  if (!error_) error_ = std::move(error);
}

std::string Fields::path() const {
  if (parent_ == nullptr) return own_path_;
  std::string out = parent_->path_of(key_);
  if (index_) out.append("[").append(std::to_string(*index_)).append("]");
  return out;
}

std::string Fields::path_of(std::string_view key) const {
  std::string out = path();
  if (!out.empty() && !key.empty()) out += '.';
  return out.append(key);
}

Result<> Fields::finish() {
  if (error_) return tl::unexpected<Error>(*error_);
  const Json::Object& members = *object_->as_object();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (was_asked(i)) continue;
    return fail(errc::field_unknown, path_of(members[i].first.substr(0, 64)) +
                                         " is not known here; remove it, or use a version that knows it");
  }
  return {};
}

}  // namespace postern::wire
