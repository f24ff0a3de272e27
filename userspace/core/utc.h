// SPDX-License-Identifier: Apache-2.0
// UTC instants as documents spell them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/ids.h"

namespace postern {

// "2026-11-29T13:50:48Z": RFC 3339 with whole seconds and Z, the only form that documents use.
std::string utc_text(UtcSeconds instant);
// The inverse; refuses any other form, and dates that do not exist. Years 1970 to 9999.
std::optional<UtcSeconds> parse_utc(std::string_view text);

}  // namespace postern
