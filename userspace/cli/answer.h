// SPDX-License-Identifier: Apache-2.0
// What a command has to say, for programs and for people. Commands return it; only main.cpp prints.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "core/result.h"
#include "wire/control.h"
#include "wire/json.h"

namespace postern::cli {

struct Answer {
  std::string json;  // one line of canonical JSON, without the newline
  std::string text;  // lines for people, each with its newline
  int exit = 0;
};

// A refusal, by the agent or by this program: code, exit code (SPEC 7.1), message.
using Refusal = wire::ControlError;
using Outcome = tl::expected<Answer, Refusal>;

tl::unexpected<Refusal> refuse(const Error& error);
tl::unexpected<Refusal> refuse(ErrorCode code, std::string context);

// {"error":{"code","exit","message"},"schema":"postern/error/v1"}
std::string refusal_json(const Refusal& refusal);

// A string for JSON out of bytes of any origin (a path, an argument): what is no UTF-8 becomes U+FFFD.
wire::Json json_text(std::string_view bytes);

// The object with "schema": "postern/NAME/v1" added.
std::string with_schema(wire::Json object, std::string_view name);

}  // namespace postern::cli
