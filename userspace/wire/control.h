// SPDX-License-Identifier: Apache-2.0
// The control socket's messages (SPEC 7.2). A request is one line of canonical JSON
//   {"arguments":{...},"body_bytes":N,"command":NAME}
// followed by N raw bytes (a snapshot, for `apply`); the answer is one line: {"result":VALUE} or
//   {"error":{"code":"snapshot.rollback","exit":5,"message":"..."}}
// One request a connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "wire/json.h"

namespace postern::wire {

inline constexpr std::size_t kMaxControlLine = 64U << 20;

namespace errc {
inline constexpr ErrorCode control_malformed{"control.malformed", ErrorKind::usage};
}  // namespace errc

struct ControlRequest {
  std::string command;
  Json arguments = Json::object();
  std::uint64_t body_bytes = 0;
};

std::string encode_request(const ControlRequest& request);  // with the newline
Result<ControlRequest> parse_request(std::string_view line);

// What the agent said: a result, or why not, with the exit code that the command-line tool should give.
struct ControlError {
  std::string code;
  int exit = 1;
  std::string message;
};
struct ControlAnswer {
  Json result;
  std::optional<ControlError> error;
};

std::string encode_answer(const Result<Json>& answer);  // with the newline
// Fails only when the line is no answer at all.
Result<ControlAnswer> parse_answer(std::string_view line);

}  // namespace postern::wire
