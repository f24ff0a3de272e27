// SPDX-License-Identifier: Apache-2.0
#include "wire/json_record.h"

#include <charconv>

#include "wire/json_text.h"

namespace postern::wire {

JsonRecord::JsonRecord(JsonCursor& cursor) : cursor_(&cursor) {
  enter();
}

JsonRecord::JsonRecord(const JsonRecord& parent, std::string_view key, std::optional<std::size_t> index)
    : cursor_(parent.cursor_), parent_(&parent), key_(key), index_(index) {
  enter();
}

void JsonRecord::enter() {
  const JsonCursor::Kind kind = cursor_->kind();
  if (kind != JsonCursor::Kind::object && kind != JsonCursor::Kind::none) {
    const std::string where = path();
    const std::string found = describe_here();
    cursor_->fail_with({errc::field_invalid,
                        (where.empty() ? "the document" : where) + " is " + found + ", expected an object"});
  }
  open_ = cursor_->enter_object();
}

// Whether a member is left; its key is then in `next_`.
bool JsonRecord::peek() {
  if (!pending_ && open_) open_ = pending_ = cursor_->next_member(next_);
  return pending_ && cursor_->ok();
}

bool JsonRecord::has(std::string_view key) {
  if (!peek()) return false;
  if (next_ == key) {
    pending_ = false;
    return true;
  }
  if (utf16_less(next_, key)) refuse_unknown();
  return false;
}

bool JsonRecord::needs(std::string_view key) {
  if (has(key)) return true;
  if (cursor_->ok()) cursor_->fail_with({errc::field_missing, path_of(key) + " is missing"});
  return false;
}

void JsonRecord::refuse_unknown() {
  cursor_->fail_with(
      {errc::field_unknown,
       path_of(next_.substr(0, 64)) + " is not known here; remove it, or use a version that knows it"});
}

std::string_view JsonRecord::text(std::string_view key) {
  return needs(key) ? text_here(key) : std::string_view();
}

std::int64_t JsonRecord::integer(std::string_view key, std::int64_t min, std::int64_t max) {
  return needs(key) ? integer_here(key, min, max) : min;
}

std::uint64_t JsonRecord::decimal(std::string_view key) {
  return needs(key) ? decimal_here(key) : 0;
}

std::string_view JsonRecord::text_here(std::string_view key) {
  if (cursor_->kind() == JsonCursor::Kind::string) return cursor_->read_string();
  if (cursor_->ok()) reject(key, "is " + describe_here() + ", expected a string");
  return {};
}

std::int64_t JsonRecord::integer_here(std::string_view key, std::int64_t min, std::int64_t max) {
  std::string found;
  if (cursor_->kind() == JsonCursor::Kind::integer) {
    const std::int64_t number = cursor_->read_integer();
    if (number >= min && number <= max) return number;
    found = std::to_string(number);
  } else {
    found = describe_here();
  }
  reject(key,
         "is " + found + ", expected an integer from " + std::to_string(min) + " to " + std::to_string(max));
  return min;
}

std::uint64_t JsonRecord::decimal_here(std::string_view key) {
  std::string found;
  if (cursor_->kind() == JsonCursor::Kind::string) {
    const std::string_view text = cursor_->read_string();
    std::uint64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc{} && stop == text.data() + text.size();
    if (whole && (text.size() == 1 || text.front() != '0')) return number;
    found = "\"" + std::string(text.substr(0, 64)) + "\"";
  } else {
    found = describe_here();
  }
  reject(key, "is " + found + ", expected a 64-bit count as a decimal string without leading zeros");
  return 0;
}

bool JsonRecord::enter_array_here(std::string_view key) {
  const JsonCursor::Kind kind = cursor_->kind();
  if (kind != JsonCursor::Kind::array && kind != JsonCursor::Kind::none)
    reject(key, "is " + describe_here() + ", expected an array");
  return cursor_->enter_array();
}

void JsonRecord::reject(std::string_view key, std::string_view why) {
  if (cursor_->ok()) cursor_->fail_with({errc::field_invalid, path_of(key).append(" ").append(why)});
}

// Reads scalars on the way: an error follows.
std::string JsonRecord::describe_here() const {
  switch (cursor_->kind()) {
    case JsonCursor::Kind::null:
      return "null";
    case JsonCursor::Kind::boolean:
      return "a boolean";
    case JsonCursor::Kind::integer:
      return std::to_string(cursor_->read_integer());
    case JsonCursor::Kind::string:
      return "\"" + std::string(cursor_->read_string().substr(0, 64)) + "\"";
    case JsonCursor::Kind::array:
      return "an array";
    case JsonCursor::Kind::object:
      return "an object";
    case JsonCursor::Kind::none:
      break;
  }
  return "no value";
}

std::string JsonRecord::path() const {
  if (parent_ == nullptr) return {};
  std::string out = parent_->path_of(key_);
  if (index_) out.append("[").append(std::to_string(*index_)).append("]");
  return out;
}

std::string JsonRecord::path_of(std::string_view key) const {
  std::string out = path();
  if (!out.empty() && !key.empty()) out += '.';
  return out.append(key);
}

void JsonRecord::finish() {
  if (peek()) refuse_unknown();
}

}  // namespace postern::wire
