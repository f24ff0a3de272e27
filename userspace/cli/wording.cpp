// SPDX-License-Identifier: Apache-2.0
#include "cli/wording.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace postern::cli {
namespace {

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::size_t kBodyColumns = 100;
constexpr std::int64_t kLongestSpan = 36'500 * kDay;

struct Unit {
  std::int64_t seconds;
  const char* name;
};
constexpr std::array<Unit, 4> kUnits{{{kDay, "d"}, {kHour, "h"}, {kMinute, "min"}, {1, "s"}}};

}  // namespace

std::string size_words(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < kNames.size()) {
    size /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", size, kNames[unit]);
  return text.data();
}

std::string body_words(const wire::Json& body) {
  std::string text = wire::encode_canonical(body);
  if (text.size() <= kBodyColumns) return text;
  std::size_t end = kBodyColumns;
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  return text.substr(0, end) + "...";
}

std::string span_words(std::int64_t seconds) {
  for (std::size_t i = 0; i + 1 < kUnits.size(); ++i) {
    if (seconds < kUnits[i].seconds) continue;
    std::string out = std::to_string(seconds / kUnits[i].seconds) + " " + kUnits[i].name;
    const std::int64_t rest = seconds % kUnits[i].seconds / kUnits[i + 1].seconds;
    if (rest > 0) out += " " + std::to_string(rest) + " " + kUnits[i + 1].name;
    return out;
  }
  return std::to_string(seconds) + " s";
}

std::string expiry_words(UtcSeconds expires, UtcSeconds now) {
  const std::int64_t left = expires.value - now.value;
  return left > 0 ? "in " + span_words(left) : span_words(-left) + " ago";
}

std::string count_words(std::uint64_t count, std::string_view noun) {
  const bool sibilant = noun.ends_with("x") || noun.ends_with("s");
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : sibilant ? "es" : "s");
}

std::optional<std::int64_t> parse_span(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end + 1 != text.data() + text.size() || number <= 0) return std::nullopt;
  const std::int64_t unit = *end == 'd'   ? kDay
                            : *end == 'h' ? kHour
                            : *end == 'm' ? kMinute
                            : *end == 's' ? 1
                                          : 0;
  if (unit == 0 || number > kLongestSpan / unit) return std::nullopt;
  return number * unit;
}

}  // namespace postern::cli
