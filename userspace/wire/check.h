// SPDX-License-Identifier: Apache-2.0
// One thing that `postern doctor` looked at (SPEC 7.5). The agent and the command-line tool each look at what
// they can reach, so the form is shared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/json.h"

namespace postern::wire {

enum class CheckStatus {
  ok,
  warn,  // works, but somebody should look
  fail,  // does not do its work; makes doctor exit with 1
};

std::string_view check_status_name(CheckStatus status);

struct Check {
  std::string name;  // stable: "journal", "authority.expiry"
  CheckStatus status = CheckStatus::ok;
  std::string found;
  std::string remedy;  // "" when ok

  friend bool operator==(const Check&, const Check&) = default;
};

Check check_ok(std::string name, std::string found);
Check check_warn(std::string name, std::string found, std::string remedy);
Check check_fail(std::string name, std::string found, std::string remedy);

// {"found","name","remedy","status"}
Json check_json(const Check& check);
// Lenient: an agent of another version may add members. What has no name or no known status is a warning that
// says so.
Check parse_check(const Json& json);

}  // namespace postern::wire
