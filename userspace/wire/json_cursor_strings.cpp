// SPDX-License-Identifier: Apache-2.0
// The cursor's strings. Most have no escape and are views of the text; those that have one are put together
// in a scratch, and each escape must be the one that the encoder would write.
#include <algorithm>
#include <array>
#include <charconv>

#include "wire/json_cursor.h"

namespace postern::wire {
namespace {

// Bytes that a string holds as they are.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> out{};
  for (std::size_t byte = 0x20; byte < out.size(); ++byte)
    out[byte] = byte != '"' && byte != '\\';
  return out;
}();

bool is_plain(char c) {
  return kPlain[static_cast<unsigned char>(c)];
}

// Four hexadecimal digits of either case.
std::optional<unsigned> parse_hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  unsigned out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 4, out, 16);
  return error == std::errc{} && end == text.data() + 4 ? std::optional(out) : std::nullopt;
}

}  // namespace

std::string_view JsonCursor::read_string() {
  return take_string(scratch_);
}

std::string_view JsonCursor::take_string(std::string& scratch) {
  if (error_) return {};
  if (here() != '"') {
    unexpected("a string");
    return {};
  }
  const std::size_t begin = at_ + 1;
  std::size_t end = begin;
  while (end < text_.size() && is_plain(text_[end]))
    ++end;
  at_ = end;
  if (here() != '"') return take_escaped(begin, scratch);
  ++at_;
  return text_.substr(begin, end - begin);
}

// The string whose plain first part goes from `begin` to the cursor.
std::string_view JsonCursor::take_escaped(std::size_t begin, std::string& scratch) {
  scratch.assign(text_.substr(begin, at_ - begin));
  while (here() != '"') {
    if (here() == '\\') {
      if (!take_escape(scratch)) return {};
      continue;
    }
    const std::size_t plain = at_;
    while (at_ < text_.size() && is_plain(text_[at_]))
      ++at_;
    if (plain == at_) {
      if (at_ == text_.size()) {
        unexpected("the end of a string");
      } else {
        refuse(errc::json_syntax, at_, "a control character stands in a string; it is written as an escape");
      }
      return {};
    }
    scratch.append(text_.substr(plain, at_ - plain));
  }
  ++at_;
  return scratch;
}

bool JsonCursor::take_escape(std::string& into) {
  static constexpr std::string_view kLetters = "\"\\bfnrt";
  static constexpr std::string_view kMeanings = "\"\\\b\f\n\r\t";
  const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  const std::size_t named = letter == '\0' ? std::string_view::npos : kLetters.find(letter);
  if (named != std::string_view::npos) {
    into += kMeanings[named];
    at_ += 2;
    return true;
  }
  const std::string_view digits = text_.substr(std::min(at_ + 2, text_.size()), 4);
  const std::optional<unsigned> unit = letter == 'u' ? parse_hex4(digits) : std::nullopt;
  // An escape is right when the encoder would write it.
  if (unit && *unit < 0x20 && kMeanings.find(static_cast<char>(*unit)) == std::string_view::npos &&
      digits.find_first_of("ABCDEF") == std::string_view::npos) {
    into += static_cast<char>(*unit);
    at_ += 6;
    return true;
  }
  if (letter == 'u' && unit) {
    refuse_unicode_escape();
  } else if (letter == '/') {
    refuse(errc::json_escape, at_, "the escape \\/ is not needed; canonical JSON writes a plain /");
  } else {
    refuse(errc::json_syntax, at_, "this begins no escape of JSON");
  }
  return false;
}

// A \uXXXX that is well-formed and not what the encoder would write.
void JsonCursor::refuse_unicode_escape() {
  const unsigned unit = *parse_hex4(text_.substr(at_ + 2));
  const bool high = unit >= 0xd800 && unit < 0xdc00;
  const bool low = unit >= 0xdc00 && unit < 0xe000;
  const std::string_view next = text_.substr(at_ + 6);
  const unsigned second = next.starts_with("\\u") ? parse_hex4(next.substr(2)).value_or(0) : 0;
  const bool pair = high && second >= 0xdc00 && second < 0xe000;
  if (low || (high && !pair)) {
    refuse(errc::json_surrogate, at_,
           "half of a surrogate pair without its other half after it, no character");
  } else {
    refuse(errc::json_escape, at_,
           "this character has another spelling: itself, or a shorter escape, or one in lower case");
  }
}

}  // namespace postern::wire
