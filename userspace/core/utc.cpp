// SPDX-License-Identifier: Apache-2.0
#include "core/utc.h"

#include <chrono>
#include <cstdio>

namespace postern {
namespace {

std::optional<unsigned> digits(std::string_view text, std::size_t offset, std::size_t count) {
  unsigned value = 0;
  for (std::size_t i = offset; i < offset + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(text[i] - '0');
  }
  return value;
}

}  // namespace

std::string utc_text(UtcSeconds instant) {
  namespace c = std::chrono;
  const c::sys_seconds time{c::seconds(instant.value)};
  const c::sys_days day = c::floor<c::days>(time);
  const c::year_month_day date{day};
  const c::hh_mm_ss clock{time - day};
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return buffer;
}

std::optional<UtcSeconds> parse_utc(std::string_view text) {
  namespace c = std::chrono;
  if (text.size() != 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text[19] != 'Z') {
    return std::nullopt;
  }
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2);
  const auto minute = digits(text, 14, 2);
  const auto second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const c::year_month_day date{c::year(static_cast<int>(*year)), c::month(*month), c::day(*day)};
  if (!date.ok() || *year < 1970 || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const c::sys_seconds time = c::sys_days{date} + c::hours(*hour) + c::minutes(*minute) + c::seconds(*second);
  return UtcSeconds(time.time_since_epoch().count());
}

}  // namespace postern
