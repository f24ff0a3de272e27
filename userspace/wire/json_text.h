// SPDX-License-Identifier: Apache-2.0
// The canonical spelling of a value (RFC 8785), written piece by piece into a sink.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "wire/json.h"

namespace postern::wire {

// The order of UTF-16 code units, for valid UTF-8. It is the order of bytes, but for one thing: UTF-16 spells
// code points from U+10000 with units 0xD800.., which come before U+E000..U+FFFF (lead bytes 0xEE and 0xEF).
inline bool utf16_less(std::string_view a, std::string_view b) {
  const auto [at_a, at_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at_a == a.end() || at_b == b.end()) return at_a == a.end() && at_b != b.end();
  const auto rank = [](char c) {
    const unsigned byte = static_cast<unsigned char>(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte;
  };
  return rank(*at_a) < rank(*at_b);
}

// Sink: void put(std::string_view).
template <class Sink>
class JsonText {
 public:
  explicit JsonText(Sink sink = {}) : sink_(std::move(sink)) {}

  Sink& sink() { return sink_; }
  void write(const Json& value) {
    if (const bool* b = value.as_bool()) {
      sink_.put(*b ? "true" : "false");
    } else if (const std::int64_t* number = value.as_integer()) {
      char digits[24];
      const auto [end, error] = std::to_chars(digits, digits + sizeof digits, *number);
      sink_.put({digits, static_cast<std::size_t>(end - digits)});
    } else if (const std::string* text = value.as_string()) {
      write_string(*text);
    } else if (const Json::Array* elements = value.as_array()) {
      write_array(*elements);
    } else if (const Json::Object* members = value.as_object()) {
      write_object(*members);
    } else {
      sink_.put("null");
    }
  }

 private:
  void write_array(const Json::Array& elements) {
    std::string_view separator = "[";
    for (const Json& element : elements) {
      sink_.put(separator);
      write(element);
      separator = ",";
    }
    sink_.put(elements.empty() ? "[]" : "]");
  }

  void write_object(const Json::Object& members) {
    const auto less = [](const Json::Member& a, const Json::Member& b) {
      return utf16_less(a.first, b.first);
    };
    const auto not_less = [&less](const Json::Member& a, const Json::Member& b) { return !less(a, b); };
    if (std::adjacent_find(members.begin(), members.end(), not_less) == members.end()) {
      std::string_view separator = "{";
      for (const Json::Member& member : members)
        write_member(member, separator);
    } else {
      write_sorted(members);
    }
    sink_.put(members.empty() ? "{}" : "}");
  }

  void write_sorted(const Json::Object& members) {
    std::vector<const Json::Member*> sorted;
    sorted.reserve(members.size());
    for (const Json::Member& member : members)
      sorted.push_back(&member);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return utf16_less(a->first, b->first); });
    std::string_view separator = "{";
    for (const Json::Member* member : sorted)
      write_member(*member, separator);
  }

  void write_member(const Json::Member& member, std::string_view& separator) {
    sink_.put(separator);
    write_string(member.first);
    sink_.put(":");
    write(member.second);
    separator = ",";
  }

  void write_string(std::string_view text) {
    sink_.put("\"");
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') continue;
      sink_.put(text.substr(plain, i - plain));
      write_escape(c);
      plain = i + 1;
    }
    sink_.put(text.substr(plain));
    sink_.put("\"");
  }

  void write_escape(char c) {
    static constexpr std::string_view kNamed = "\b\t\n\f\r\"\\";
    static constexpr std::string_view kLetters = "btnfr\"\\";
    static constexpr char kHex[] = "0123456789abcdef";
    const std::size_t named = kNamed.find(c);
    if (named != std::string_view::npos) {
      const char escape[] = {'\\', kLetters[named]};
      sink_.put({escape, sizeof escape});
    } else {
      const char escape[] = {'\\', 'u', '0', '0', kHex[c >> 4 & 15], kHex[c & 15]};
      sink_.put({escape, sizeof escape});
    }
  }

  Sink sink_;
};

}  // namespace postern::wire
