// SPDX-License-Identifier: Apache-2.0
// What somebody likely meant to write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postern::config {

// The known word nearest to `unknown`, when it is near enough to be a slip.
std::optional<std::string_view> nearest_word(std::string_view unknown,
                                             const std::vector<std::string_view>& known);

// "; did you mean \"x\"?", or "; known here are a, b, c" with the first few, or nothing.
std::string did_you_mean(std::string_view unknown, const std::vector<std::string_view>& known);

}  // namespace postern::config
