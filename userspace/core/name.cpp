// SPDX-License-Identifier: Apache-2.0
#include "core/name.h"

#include <algorithm>

namespace postern {
namespace {

constexpr std::size_t kMaxName = 63;

bool is_name(std::string_view text, std::string_view punctuation) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= kMaxName && alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return alphanumeric(c) || punctuation.find(c) != std::string_view::npos;
         });
}

}  // namespace

bool is_id(std::string_view text) {
  return is_name(text, "._-");
}
bool is_mesh_name(std::string_view text) {
  return is_name(text, "-");
}

std::string in_quotes(std::string_view name) {
  std::string out = "\"";
  for (const char c : name.substr(0, kMaxName + 1)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out += '"';
}

}  // namespace postern
