// SPDX-License-Identifier: Apache-2.0
// Spans, sizes, counts and bodies of events as people say them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "wire/json.h"

namespace postern::cli {

std::string size_words(std::uint64_t bytes);                   // "16.0 MiB"
std::string span_words(std::int64_t seconds);                  // the two largest units: "2 d 3 h", "41 s"
std::string expiry_words(UtcSeconds expires, UtcSeconds now);  // "in 2 d 3 h", "3 h 5 min ago"
std::string count_words(std::uint64_t count, std::string_view noun);  // "1 peer", "2 peers", "3 prefixes"
std::string body_words(const wire::Json& body);                       // of an event, cut where it is long

// "30d", "12h", "90m" or "45s" in seconds; more than zero and at most 100 years.
std::optional<std::int64_t> parse_span(std::string_view text);

}  // namespace postern::cli
