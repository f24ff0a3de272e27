// SPDX-License-Identifier: Apache-2.0
#include "wire/json_cursor.h"

#include <simdjson.h>

#include "core/bytes.h"
#include "wire/json_text.h"
#include "wire/utf8.h"

namespace postern::wire {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kIntegersOnly = "larger counts are written as decimal strings";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_white_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string spelled(char c) {
  if (c > 0x20 && c < 0x7f) return std::string("'") + c + "'";
  const auto byte = static_cast<std::uint8_t>(c);
  return "byte 0x" + to_hex({&byte, 1});
}

}  // namespace

JsonCursor::JsonCursor(std::string_view text, std::size_t limit_bytes) : text_(text) {
  check_encoding(limit_bytes);
}

void JsonCursor::check_encoding(std::size_t limit_bytes) {
  if (text_.size() > limit_bytes) {
    fail_with({errc::json_too_large, "the document has " + std::to_string(text_.size()) +
                                         " bytes, the limit is " + std::to_string(limit_bytes)});
  } else if (text_.starts_with(kByteOrderMark)) {
    refuse(errc::json_byte_order_mark, 0, "the document begins with a byte order mark; remove it");
  } else if (!simdjson::validate_utf8(text_.data(), text_.size())) {
    const std::size_t at = first_invalid_utf8(text_);
    if (is_encoded_surrogate(text_.substr(at))) {
      refuse(errc::json_surrogate, at, "half of a surrogate pair, which is no character");
    } else {
      refuse(errc::json_utf8, at, "this is no valid UTF-8");
    }
  }
}

void JsonCursor::fail_with(Error error) {
  if (!error_) error_ = std::move(error);
}

void JsonCursor::refuse(ErrorCode code, std::size_t at, std::string_view why) {
  fail_with({code, "byte " + std::to_string(at) + ": " + std::string(why)});
}

void JsonCursor::unexpected(std::string_view wanted) {
  if (error_) return;
  if (at_ >= text_.size()) {
    refuse(errc::json_syntax, at_, "the document ends too early, expected " + std::string(wanted));
  } else if (is_white_space(text_[at_])) {
    refuse(errc::json_white_space, at_, "white space, which canonical JSON has none of");
  } else {
    refuse(errc::json_syntax, at_, "found " + spelled(text_[at_]) + ", expected " + std::string(wanted));
  }
}

JsonCursor::Kind JsonCursor::kind() const {
  if (error_) return Kind::none;
  switch (here()) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'n':
      return Kind::null;
    default:
      return is_digit(here()) || here() == '-' ? Kind::integer : Kind::none;
  }
}

void JsonCursor::take_word(std::string_view word) {
  if (error_) return;
  if (text_.substr(at_).starts_with(word)) {
    at_ += word.size();
  } else {
    unexpected(word);
  }
}

void JsonCursor::read_null() {
  take_word("null");
}

bool JsonCursor::read_boolean() {
  const bool value = here() == 't';
  take_word(value ? "true" : "false");
  return value && ok();
}

std::int64_t JsonCursor::read_integer() {
  if (error_) return 0;
  const std::size_t begin = at_;
  const bool negative = here() == '-';
  if (negative) ++at_;
  const std::size_t digits = at_;
  std::int64_t value = 0;
  bool in_range = true;
  for (; is_digit(here()); ++at_) {
    if (value > kMaxInteger / 10) in_range = false;
    if (in_range) value = value * 10 + (here() - '0');
  }
  if (at_ == digits) {
    unexpected("a value");
    return 0;
  }
  if (here() == '.' || here() == 'e' || here() == 'E') {
    refuse(errc::json_float, begin, "found a fraction or an exponent, expected an integer");
  } else if (text_[digits] == '0' && at_ - digits > 1) {
    refuse(errc::json_number, begin, "an integer has no leading zeros");
  } else if (negative && value == 0 && in_range) {
    refuse(errc::json_number, begin, "found -0, whose one spelling is 0");
  } else if (!in_range || value > kMaxInteger) {
    refuse(errc::json_number, begin,
           "found " + std::string(text_.substr(begin, std::min<std::size_t>(at_ - begin, 32))) +
               ", expected an integer within 2^53-1 in magnitude; " + std::string(kIntegersOnly));
  }
  if (error_) return 0;
  return negative ? -value : value;
}

bool JsonCursor::enter(char open) {
  if (error_) return false;
  if (here() != open) {
    unexpected(open == '{' ? "an object" : "an array");
    return false;
  }
  if (depth_ == kMaxDepth) {
    refuse(errc::json_depth, at_, "nested deeper than " + std::to_string(kMaxDepth) + " levels");
    return false;
  }
  Level& level = levels_[depth_++];
  level.empty = true;
  level.begin = at_++;
  level.last_key = {};
  return true;
}

bool JsonCursor::enter_object() {
  return enter('{');
}

bool JsonCursor::enter_array() {
  return enter('[');
}

bool JsonCursor::next_member(std::string_view& key) {
  if (error_) return false;
  Level& level = levels_[depth_ - 1];
  if (here() == '}') {
    ++at_;
    --depth_;
    return false;
  }
  if (!level.empty) {
    if (here() != ',') {
      unexpected("a comma or the end of the object");
      return false;
    }
    ++at_;
  }
  const std::size_t begin = at_;
  std::string_view found = take_string(key_scratch_);
  if (error_) return false;
  if (!level.empty && !utf16_less(level.last_key, found)) {
    refuse_key(level, found, begin);
    return false;
  }
  if (here() != ':') {
    unexpected("a colon");
    return false;
  }
  ++at_;
  level.empty = false;
  if (found.data() == key_scratch_.data()) {
    level.decoded.swap(key_scratch_);
    found = level.decoded;
  }
  level.last_key = found;
  key = found;
  return at_value();
}

void JsonCursor::refuse_key(Level& level, std::string_view key, std::size_t at) {
  const std::string name = "the key \"" + std::string(key.substr(0, 64)) + "\"";
  if (is_duplicate(level, key)) {
    refuse(errc::json_duplicate_key, at, name + " stands twice in one object");
  } else {
    refuse(errc::json_key_order, at,
           name + " comes after \"" + std::string(level.last_key.substr(0, 64)) +
               "\"; keys stand in rising order of their UTF-16 code units");
  }
}

// Reads the object again, as far as it was good.
bool JsonCursor::is_duplicate(const Level& level, std::string_view key) const {
  JsonCursor again("", 0);
  again.text_ = text_.substr(0, at_);
  again.at_ = level.begin;
  std::string_view before;
  again.enter_object();
  while (again.next_member(before)) {
    if (before == key) return true;
    if (before == level.last_key) break;
    again.skip_value();
  }
  return false;
}

bool JsonCursor::next_element() {
  if (error_) return false;
  Level& level = levels_[depth_ - 1];
  if (here() == ']') {
    ++at_;
    --depth_;
    return false;
  }
  if (!level.empty) {
    if (here() != ',') {
      unexpected("a comma or the end of the array");
      return false;
    }
    ++at_;
  }
  level.empty = false;
  return at_value();
}

bool JsonCursor::at_value() {
  if (kind() == Kind::none) unexpected("a value");
  return ok();
}

Json JsonCursor::read_tree() {
  switch (kind()) {
    case Kind::null:
      read_null();
      return {};
    case Kind::boolean:
      return Json(read_boolean());
    case Kind::integer:
      return Json(read_integer());
    case Kind::string:
      return Json(read_string());
    case Kind::array: {
      Json out = Json::array();
      if (!enter_array()) return out;
      while (next_element())
        out.push(read_tree());
      return out;
    }
    case Kind::object: {
      Json out = Json::object();
      std::string_view key;
      if (!enter_object()) return out;
      while (next_member(key)) {
        std::string name(key);
        out.as_object()->emplace_back(std::move(name), read_tree());
      }
      return out;
    }
    case Kind::none:
      break;
  }
  unexpected("a value");
  return {};
}

void JsonCursor::skip_value() {
  std::string_view key;
  switch (kind()) {
    case Kind::null:
      return read_null();
    case Kind::boolean:
      return static_cast<void>(read_boolean());
    case Kind::integer:
      return static_cast<void>(read_integer());
    case Kind::string:
      return static_cast<void>(read_string());
    case Kind::array:
      enter_array();
      while (next_element())
        skip_value();
      return;
    case Kind::object:
      enter_object();
      while (next_member(key))
        skip_value();
      return;
    case Kind::none:
      return unexpected("a value");
  }
}

Result<> JsonCursor::finish() {
  if (!error_ && at_ != text_.size()) {
    if (is_white_space(text_[at_])) {
      unexpected("nothing");
    } else {
      refuse(errc::json_trailing_bytes, at_, "the document is over, but something follows it");
    }
  }
  if (error_) return tl::unexpected<Error>(*error_);
  return {};
}

}  // namespace postern::wire
