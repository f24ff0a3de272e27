// SPDX-License-Identifier: Apache-2.0
// Events as `postern events` prints them: a line each, for people or for programs.
#pragma once

#include <string>

#include "wire/json.h"

namespace postern::cli {

enum class Reader { people, programs };

// Above the first line; "" for programs.
std::string event_heading(Reader reader);
// `event` is one of an agent's page, postern/event/v1.
std::string event_line(const wire::Json& event, Reader reader);
// Of {"first","last"}: records that are gone.
std::string missing_line(const wire::Json& missing, Reader reader);
// Where to go on: postern/events-end/v1.
std::string end_line(const std::string& cursor, std::uint64_t shown, bool at_end, Reader reader);

}  // namespace postern::cli
